// How a test talks to a driver: a line of JSON on standard input asks, lines of
// JSON on standard output answer. The driver ends when its input does.
import { Console } from 'node:console';
import { createInterface } from 'node:readline';

globalThis.console = new Console(process.stderr); // the SDKs log to the console

export const tell = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

// answer calls the method that each line names, of the object that it names, or
// of root. A method that returns a sequence is answered with an event for each
// element; "abort" ends the call of that id.
export async function answer(root, objects) {
  const running = new Map();
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, on, call, params } = JSON.parse(line);
    if (call === 'abort') {
      running.get(id)?.abort();
      continue;
    }
    const aborter = new AbortController();
    running.set(id, aborter);
    const object = on === 0 ? root : objects.get(on);
    run(id, () => object[call](params ?? {}, aborter.signal)).finally(() => running.delete(id));
  }
  process.exit(0);
}

async function run(id, method) {
  try {
    const result = await method();
    if (typeof result?.[Symbol.asyncIterator] !== 'function') {
      tell({ id, result: result ?? null });
      return;
    }
    for await (const event of result) {
      tell({ id, event });
    }
    tell({ id, result: null });
  } catch (error) {
    tell({ id, error: describe(error) });
  }
}

// describe tells an error in the same words for both SDKs: the reason as the
// protocol names it, or the status of HTTP.
function describe(error) {
  const message = String(error?.message ?? error);
  for (let e = error; e; e = e.cause) {
    const name = e.constructor?.name.replace(/JSONRPCError$|Error$/, '').replace(/^(JsonRpc|Rest)/, '');
    if (/^(Task|Push|Unsupported|ContentType|InvalidAgent|Version|Extension|Extended|RequestMalformed)/.test(name ?? '')) {
      return { reason: name, message };
    }
    const code = e.errorResponse?.error?.code;
    if (code !== undefined) {
      return { reason: String(code), message };
    }
  }
  const status = /\b(?:Status: |: )(\d{3})\b/.exec(message);
  return { reason: error?.name === 'AbortError' ? 'Aborted' : status ? `HTTP ${status[1]}` : '', message };
}
