// The scenario that every client library of this folder goes through. What the client said is printed as one JSON document; the Go test
// that started the script judges it.
import { readFile } from 'node:fs/promises';

// What the Go test asks for: the server's command and arguments, its call log, the programs, a resource, and how to negotiate.
export const asked = JSON.parse(process.argv[2]);

export const errors = [];
export const note = (error) => errors.push(String(error?.message ?? error));

// logged resolves once the call log says that a program with this text was asked for: from then on it can be cancelled.
async function logged(code) {
  while (!(await readFile(asked.log, 'utf8').catch(() => '')).includes(JSON.stringify(code))) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const refused = (promise) => promise.then(() => null, (error) => String(error?.message ?? error));

// scenario drives a client: tools() and read() answer as the protocol does, call(code, options) runs a program under
// {timeout, signal}, close() ends the server.
export async function scenario({ tools, call, resources, read, close, cancels = true }) {
  const report = { tools: (await tools()).tools.map((tool) => tool.name) };
  report.success = await call(asked.programs.success, {});
  report.failure = await call(asked.programs.failure, {});
  report.stopped = await call(asked.programs.stopped, {});
  if (cancels) {
    report.timedOut = await refused(call(asked.programs.late, { timeout: 500 }));
    const abort = new AbortController();
    const running = refused(call(asked.programs.endless, { signal: abort.signal }));
    await logged(asked.programs.endless);
    abort.abort('nobody waits any more');
    report.cancelled = await running;
  }
  report.after = await call(asked.programs.after, {});
  report.resources = (await resources()).resources.map((resource) => resource.uri);
  report.resource = await read(asked.uri);
  await close();
  console.log(JSON.stringify({ ...report, errors }));
}
