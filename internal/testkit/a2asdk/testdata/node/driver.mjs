// Runs the clients and servers of one SDK for a test, which names the version.
import { answer, tell } from './lines.mjs';

const version = process.argv[2];
const { client } = await import(`./client${version}.mjs`);
const { server } = await import(`./server${version}.mjs`);

const objects = new Map();
let last = 0;

const add = (object) => {
  objects.set(++last, object);
  return last;
};

const root = {
  client: (settings) => ({ object: add(client(settings)) }),
  async server(settings) {
    const object = add(undefined);
    const made = await server(settings, (event) => tell({ on: object, event }));
    objects.set(object, made);
    return { object, url: made.url, key: made.key };
  },
  async close({ object }) {
    await objects.get(object).close?.();
    objects.delete(object);
  },
};

await answer(root, objects);
