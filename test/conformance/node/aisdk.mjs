// The MCP client of the AI SDK. It has no way to cancel a call on the server.
import { createMCPClient } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio';
import { asked, note, scenario } from './scenario.mjs';

const client = await createMCPClient({
  transport: new StdioTransport({ command: asked.command, args: asked.args, stderr: 'inherit' }),
  onUncaughtError: note,
});
await scenario({
  tools: () => client.listTools(),
  call: (code) => client.callTool({ name: 'run_python', arguments: { code } }),
  resources: () => client.listResources(),
  read: (uri) => client.readResource({ uri }),
  close: () => client.close(),
  cancels: false,
});
