// What the servers of both versions share: the listener, the credentials that
// they ask for, and the test's hold over them.
import { AsyncLocalStorage } from 'node:async_hooks';
import express from 'express';
import { Agent } from './agent.mjs';

const requests = new AsyncLocalStorage();

// headers are those of the request that is being answered.
export const headers = () => requests.getStore() ?? {};

// rpc and restful are where the bindings are.
export const rpc = '/rpc';
export const restful = '/rest';

// listen serves what mount adds to the app, on a port of its own. The card is
// public, everything else asks for the test's token.
export async function listen({ token }, happened, mount) {
  const app = express();
  app.use(express.json({ type: ['application/json', 'application/a2a+json'] }));
  app.use((req, res, next) => {
    happened({ kind: 'request', method: req.body?.method ?? req.method, path: req.path, headers: req.headers });
    const card = req.path.startsWith('/.well-known/');
    if (!card && token && req.headers.authorization !== `Bearer ${token}`) {
      res.status(401).set('WWW-Authenticate', 'Bearer realm="test"').json({ error: 'who are you?' });
      return;
    }
    requests.run(req.headers, next);
  });
  const http = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => http.once('listening', resolve));
  const url = `http://127.0.0.1:${http.address().port}`;
  const agent = new Agent(happened);
  mount(app, url, agent);
  return {
    url,
    release: ({ taskId }) => agent.release(taskId),
    close() {
      http.close();
      http.closeAllConnections();
    },
  };
}

// interfaces are the URLs of the transports, the preferred one first.
export const interfaces = (url, { transports = ['JSONRPC', 'HTTP+JSON'] }) =>
  transports.map((transport) => ({ transport, url: url + (transport === 'JSONRPC' ? rpc : restful) }));
