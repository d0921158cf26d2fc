// What the clients of both versions share: where they find the card, and the
// headers that they send.

// connect returns a function that returns the client of an SDK, which it makes
// when it is first asked for. It has one transport alone when the test names one.
export function connect(sdk, { url, cardPath = '.well-known/agent-card.json', headers, transport }) {
  const fetchImpl = (input, init = {}) => {
    const all = new Headers(init.headers);
    for (const [name, value] of Object.entries(headers ?? {})) {
      all.set(name, value);
    }
    return fetch(input, { ...init, headers: all });
  };
  const transports = [new sdk.JsonRpcTransportFactory({ fetchImpl }), new sdk.RestTransportFactory({ fetchImpl })];
  const factory = new sdk.ClientFactory({
    transports: transports.filter((t) => !transport || t.protocolName === transport),
    cardResolver: new sdk.DefaultAgentCardResolver({ fetchImpl }),
  });
  const base = url.endsWith('/') ? url : `${url}/`;
  let client;
  return () => {
    client ??= factory.createFromUrl(base, cardPath);
    return client;
  };
}
