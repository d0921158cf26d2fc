// What the clients of both versions share: where they find the card, and the
// credentials that they send.

// settings are the options that the test gave.
export const settings = JSON.parse(process.argv[2]);

// authorized is fetch with the test's headers on every request.
export function authorized(input, init = {}) {
  const headers = new Headers(init.headers);
  for (const [name, value] of Object.entries(settings.headers ?? {})) {
    headers.set(name, value);
  }
  return fetch(input, { ...init, headers });
}

// options are those of the factory, of either SDK: one transport alone when the
// test names one.
export function options(sdk) {
  const given = { fetchImpl: authorized };
  const transports = [new sdk.JsonRpcTransportFactory(given), new sdk.RestTransportFactory(given)];
  return {
    transports: transports.filter((t) => !settings.transport || t.protocolName === settings.transport),
    cardResolver: new sdk.DefaultAgentCardResolver(given),
  };
}

// connect makes the client at the first command that needs it.
export function connect(sdk) {
  const base = settings.url.endsWith('/') ? settings.url : `${settings.url}/`;
  let client;
  return () => {
    client ??= new sdk.ClientFactory(options(sdk)).createFromUrl(base, settings.cardPath ?? '.well-known/agent-card.json');
    return client;
  };
}
