// What the clients of both versions share: where they find the card, and the
// headers that they send.

const wellKnown = '.well-known/agent-card.json';

// sends returns fetch with headers on every request.
const sends = (headers) => (input, init = {}) => {
  const all = new Headers(init.headers);
  for (const [name, value] of Object.entries(headers ?? {})) {
    all.set(name, value);
  }
  return fetch(input, { ...init, headers: all });
};

const base = (url) => (url.endsWith('/') ? url : `${url}/`);

// publicCard returns the card that everybody may see.
export const publicCard = (sdk, { url, cardPath = wellKnown, headers }) =>
  new sdk.DefaultAgentCardResolver({ fetchImpl: sends(headers) }).resolve(base(url), cardPath);

// connect returns a function that returns the client of an SDK, which it makes
// when it is first asked for. It has one transport alone when the test names one.
export function connect(sdk, { url, cardPath = wellKnown, headers, transport }) {
  const fetchImpl = sends(headers);
  const transports = [new sdk.JsonRpcTransportFactory({ fetchImpl }), new sdk.RestTransportFactory({ fetchImpl })];
  const factory = new sdk.ClientFactory({
    transports: transports.filter((t) => !transport || t.protocolName === transport),
    cardResolver: new sdk.DefaultAgentCardResolver({ fetchImpl }),
  });
  let client;
  return () => {
    client ??= factory.createFromUrl(base(url), cardPath);
    return client;
  };
}
