// The TypeScript SDK, version 2.
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { asked, note, scenario } from './scenario.mjs';

const client = new Client({ name: 'conformance', version: '1' }, { versionNegotiation: { mode: asked.mode } });
const transport = new StdioClientTransport({ command: asked.command, args: asked.args, stderr: 'inherit' });
client.onerror = note;
await client.connect(transport);
await scenario({
  tools: () => client.listTools(),
  call: (code, options) => client.callTool({ name: 'run_python', arguments: { code } }, { onprogress: () => {}, ...options }),
  resources: () => client.listResources(),
  read: (uri) => client.readResource({ uri }),
  close: () => client.close(),
});
