// The TypeScript SDK, version 1.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { asked, note, scenario } from './scenario.mjs';

const client = new Client({ name: 'conformance', version: '1' });
const transport = new StdioClientTransport({ command: asked.command, args: asked.args, stderr: 'inherit' });
client.onerror = note;
await client.connect(transport);
await scenario({
  tools: () => client.listTools(),
  call: (code, options) => client.callTool({ name: 'run_python', arguments: { code } }, undefined, { onprogress: () => {}, ...options }),
  resources: () => client.listResources(),
  read: (uri) => client.readResource({ uri }),
  close: () => client.close(),
});
