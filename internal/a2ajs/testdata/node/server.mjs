// What the servers of both versions share: the listener, the credentials that
// they ask for, and the test's hold over them.
import { AsyncLocalStorage } from 'node:async_hooks';
import express from 'express';
import { Agent } from './agent.mjs';
import { answer, tell } from './lines.mjs';

// settings are the options that the test gave.
export const settings = JSON.parse(process.argv[2]);

const happened = (event) => tell({ event });
export const agent = new Agent(happened);

const requests = new AsyncLocalStorage();

// headers are those of the request that is being answered.
export const headers = () => requests.getStore() ?? {};

// restful is what the path of the REST binding starts with.
export const restful = '/rest';
export const rpc = '/rpc';

// listen serves what mount adds to the app, on a port of its own. The card is
// public, everything else asks for the test's token.
export async function listen(mount) {
  const app = express();
  app.use(express.json({ type: ['application/json', 'application/a2a+json'] }));
  app.use((req, res, next) => {
    happened({ kind: 'request', method: req.body?.method ?? req.method, path: req.path, headers: req.headers });
    const card = req.path.startsWith('/.well-known/');
    if (!card && settings.token && req.headers.authorization !== `Bearer ${settings.token}`) {
      res.status(401).set('WWW-Authenticate', 'Bearer realm="test"').json({ error: 'who are you?' });
      return;
    }
    requests.run(req.headers, next);
  });
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  mount(app, url);
  happened({ kind: 'listening', url });
  await answer({ release: ({ taskId }) => agent.release(taskId) });
}

// interfaces are the URLs of the transports, the preferred one first.
export const interfaces = (url) =>
  (settings.transports ?? ['JSONRPC', 'HTTP+JSON']).map((transport) => ({
    transport,
    url: url + (transport === 'JSONRPC' ? rpc : restful),
  }));
