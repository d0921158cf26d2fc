// The HTTP API of the server, with the key of the caller.
/** @typedef {import('./types.d.ts').Caller} Caller */
/** @typedef {import('./types.d.ts').Event} Event */

const KEY = 'console.key';
const RETRY_MS = 1000;
/** The address of the server, under which its routes are. */
export const base = new URL('..', location.href.split('#')[0]);

/** @type {{online: boolean, caller: Caller | null, epoch: number}} */
export const connection = { online: true, caller: null, epoch: 0 };
/** @type {Set<() => void>} */
const listeners = new Set();

/** @param {() => void} listener */
export function onConnection(listener) {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

const announce = () => listeners.forEach((listener) => listener());

/** An answer that is an error. */
export class APIError extends Error {
  /** @param {number} status @param {any} body */
  constructor(status, body) {
    const error = body?.error;
    super(error?.message ?? (typeof error === 'string' ? error : `the server answers ${status}`));
    this.status = status;
    this.code = error?.code ?? body?.code ?? '';
    this.details = error?.details ?? null;
    this.requestID = error?.request_id ?? '';
  }
}

/** The server does not answer. */
export class OfflineError extends Error {}

export const savedKey = () => sessionStorage.getItem(KEY) ?? '';

/** @param {string} key */
export async function useKey(key) {
  if (key) sessionStorage.setItem(KEY, key);
  else sessionStorage.removeItem(KEY);
  await readCaller();
}

/** @param {string} scope */
export function can(scope) {
  return Boolean(connection.caller?.scopes?.includes(scope));
}

export async function readCaller() {
  connection.caller = await get('runtime/v1/caller');
  connection.online = true;
  connection.epoch++;
  announce();
}

/** @param {string} method @param {string} path @param {Omit<RequestInit, "headers"> & {headers?: Record<string, string>}} [init] */
async function send(method, path, init = {}) {
  /** @type {Record<string, string>} */
  const headers = { Accept: 'application/json', ...init.headers };
  const key = savedKey();
  if (key) headers.Authorization = `Bearer ${key}`;
  try {
    const response = await fetch(new URL(path, base), { cache: 'no-store', credentials: 'omit', redirect: 'error', ...init, method, headers });
    // A server that starts or stops, or a proxy in front of it, may answer reads like this.
    if (method !== 'GET' || ![502, 503, 504].includes(response.status)) return response;
  } catch (error) {
    if (init.signal?.aborted) throw error;
  }
  lose();
  throw new OfflineError('the server does not answer');
}

/** Waits until the server answers again, then has pages read everything anew. */
function lose() {
  if (!connection.online) return;
  connection.online = false;
  announce();
  const probe = async () => {
    try {
      const response = await fetch(new URL('readyz', base), { cache: 'no-store', credentials: 'omit' });
      if (response.ok) {
        await readCaller();
        return;
      }
    } catch {
      // It does not answer everything yet.
    }
    setTimeout(probe, RETRY_MS);
  };
  setTimeout(probe, RETRY_MS);
}

/** @param {string} method @param {string} path @param {{body?: unknown, signal?: AbortSignal, headers?: Record<string, string>}} [options] */
export async function request(method, path, { body, signal, headers } = {}) {
  const response = await send(method, path, {
    signal,
    headers: body === undefined ? headers : { 'Content-Type': 'application/json', ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  let value = null;
  try {
    value = text ? JSON.parse(text) : null;
  } catch {
    if (response.ok) throw new APIError(response.status, { error: { message: 'the answer is not JSON' } });
  }
  if (response.ok) return value;
  if (response.status === 401 && connection.caller?.authenticated) {
    connection.caller = { authenticated: false };
    announce();
  }
  throw new APIError(response.status, value);
}

/** Reads an answer that is a text. @param {string} path @param {AbortSignal} [signal] */
export async function getText(path, signal) {
  const response = await send('GET', path, { signal, headers: { Accept: 'text/plain' } });
  if (!response.ok) throw new APIError(response.status, null);
  return response.text();
}

/** @param {string} path @param {AbortSignal} [signal] */
export const get = (path, signal) => request('GET', path, { signal });

/** @param {string} path @param {unknown} body @param {Record<string, string>} [headers] */
export const post = (path, body, headers) => request('POST', path, { body, headers });

/**
 * Returns a path with a query; empty values are left out.
 * @param {string} path
 * @param {Record<string, string | string[] | number | undefined>} query
 */
export function withQuery(path, query) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one) search.append(name, String(one));
  }
  return search.size ? `${path}?${search}` : path;
}

/** Returns the path of a turn, or of something below it. @param {string} id @param {string} [below] */
export const turnPath = (id, below) => `runtime/v1/turns/${encodeURIComponent(id)}${below ? `/${below}` : ''}`;

/**
 * Follows the events of a turn, delegates included, until the turn ends. Batches are passed
 * as they arrive. A connection that breaks is resumed after the latest event.
 * @param {string} turn
 * @param {(events: Event[]) => void} receive
 * @param {AbortSignal} signal
 */
export async function followEvents(turn, receive, signal) {
  let after = 0;
  let done = false;
  while (!done && !signal.aborted) {
    try {
      const path = withQuery(turnPath(turn, 'events'), { delegates: 'true', after });
      const response = await send('GET', path, { signal, headers: { Accept: 'text/event-stream' } });
      if (!response.ok || !response.body) throw new APIError(response.status, await response.json().catch(() => null));
      for await (const events of batches(response.body)) {
        after = events[events.length - 1].seq;
        done = events.some((e) => e.event_type === 'run_finish' && !e.path?.length);
        receive(events);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof APIError) throw error;
    }
    if (!done) await pause(RETRY_MS, signal);
  }
}

/** @param {ReadableStream<Uint8Array>} body */
async function* batches(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const frames = (rest + decoder.decode(value, { stream: true })).split('\n\n');
      rest = frames.pop() ?? '';
      const events = [];
      for (const frame of frames) {
        const at = frame.indexOf('data: ');
        if (at >= 0) events.push(/** @type {Event} */ (JSON.parse(frame.slice(at + 6))));
      }
      if (events.length) yield events;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** @param {number} ms @param {AbortSignal} signal @returns {Promise<void>} */
function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}
