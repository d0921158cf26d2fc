// What several pages show: states, times, values, lists and dialogs.
import { connection, onConnection } from './api.js';
import * as format from './format.js';
import { html, useCallback, useEffect, useLayoutEffect, useRef, useState } from './html.js';
import { setQuery } from './route.js';

/** Re-renders when the connection or the caller changes. */
export function useConnection() {
  const [, set] = useState(0);
  useEffect(() => onConnection(() => set((n) => n + 1)), []);
  return connection;
}

/**
 * Loads data, again when deps change, when the server is back, and every so often if asked.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} load
 * @param {unknown[]} deps
 * @param {number} [everyMs]
 */
export function useLoad(load, deps, everyMs = 0) {
  const { epoch, online } = useConnection();
  const [state, setState] = useState(/** @type {{data?: T, error?: any}} */ ({}));
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((n) => n + 1), []);
  useEffect(() => setState({}), deps);
  useEffect(() => {
    if (!online) return undefined;
    const abort = new AbortController();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const run = async () => {
      try {
        const data = await load(abort.signal);
        if (!abort.signal.aborted) setState({ data });
      } catch (error) {
        if (!abort.signal.aborted) setState((old) => ({ data: old.data, error }));
      }
      if (everyMs && !abort.signal.aborted) timer = setTimeout(run, everyMs);
    };
    run();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [...deps, epoch, online, round]);
  return { ...state, loading: state.data === undefined && !state.error, reload };
}

/** Sets the title of the page, and moves the focus to its heading when it is opened. */
/** @param {{title: string, sub?: any, actions?: any, children?: any}} props */
export function Page({ title, sub, actions, children }) {
  useEffect(() => {
    document.title = `${title} · Console`;
  }, [title]);
  return html`
    <header class="page-head">
      <div><h1 tabindex="-1">${title}</h1>${sub && html`<p class="sub">${sub}</p>`}</div>
      ${actions && html`<div class="actions">${actions}</div>`}
    </header>
    ${children}`;
}

/** @param {{load: {loading: boolean, error?: any, data?: any}, children: () => any}} props */
export function Loaded({ load, children }) {
  if (load.loading) return html`<p class="muted" role="status">Loading…</p>`;
  return html`${load.error && html`<${Problem} error=${load.error} />`}${load.data !== undefined && children()}`;
}

/** @param {{error: any}} props */
export function Problem({ error }) {
  if (!error) return null;
  const title = error.status === 404 ? 'Not found' : error.status === 403 ? 'Not allowed' : 'That did not work';
  return html`<div class="notice bad" role="alert"><strong>${title}.</strong> ${error.message}
    ${error.requestID && html`<div class="muted small">Request ${error.requestID}</div>`}</div>`;
}

/** @param {{title: string, children?: any}} props */
export const Empty = ({ title, children }) => html`<div class="empty"><strong>${title}</strong><div>${children}</div></div>`;

const TONES = /** @type {Record<string, string>} */ ({
  succeeded: 'good', approved: 'good', active: 'good', kept: 'good', ready: 'good', allow: 'good', running: 'live', pending: 'idle', waiting: 'warn', ask: 'warn', warning: 'warn', indeterminate: 'warn',
  failed: 'bad', error: 'bad', deny: 'bad', terminate: 'bad', canceled: 'idle', expired: 'idle', info: 'idle',
});

/** @param {{value: string}} props */
export const Status = ({ value }) => html`<span class=${`status ${TONES[value] ?? 'idle'}`}>${value}</span>`;

const STATUSES = ['pending', 'running', 'waiting', 'succeeded', 'failed', 'canceled'];

/** Filters a list of turns or runs. @param {{value: string}} props */
export const StatusFilter = ({ value }) => html`<label><span>Status</span><select value=${value} onChange=${(/** @type {any} */ e) => setQuery({ status: e.target.value })}><option value="">any</option>
  ${STATUSES.map((s) => html`<option key=${s} value=${s}>${s}</option>`)}</select></label>`;

/** @param {{at?: string}} props */
export function Time({ at }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 30_000);
    return () => clearInterval(timer);
  }, []);
  return at ? html`<time datetime=${at} title=${format.fullTime(at)}>${format.ago(at)}</time>` : null;
}

/** @param {{value: unknown, label?: string}} props */
export function Value({ value, label }) {
  const [whole, setWhole] = useState(false);
  const text = format.pretty(value);
  const MOST = 20_000;
  return html`<div class="value">${label && html`<h4>${label}</h4>`}
    <pre tabindex="0" aria-label=${label ?? 'Value'}>${whole ? text : text.slice(0, MOST)}</pre>
    ${!whole && text.length > MOST && html`<button type="button" class="link" onClick=${() => setWhole(true)}>Show all ${format.number(text.length)} characters</button>`}</div>`;
}

/** Copies a text, which may be made when it is needed. @param {{text: string | (() => string), label?: string}} props */
export function Copy({ text, label = 'Copy' }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(typeof text === 'function' ? text() : text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return html`<button type="button" class="small" onClick=${copy}>${done ? 'Copied' : label}</button>`;
}

/** @param {string} name @param {string} type @param {string} text */
export function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const a = document.createElement('a');
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Shows the rows of a long list that are in view; all rows have the same height. */
/** @param {{rows: any[], height: number, render: (row: any, index: number) => any, label: string, follow?: boolean, class?: string}} props */
export function VirtualList({ rows, height, render, label, follow, class: name = '' }) {
  const ref = useRef(/** @type {HTMLElement | null} */ (null));
  const [view, setView] = useState({ top: 0, size: 600 });
  const pinned = useRef(true);
  const measure = () => {
    const el = ref.current;
    if (!el) return;
    pinned.current = el.scrollTop + el.clientHeight >= el.scrollHeight - height;
    setView({ top: el.scrollTop, size: el.clientHeight });
  };
  useLayoutEffect(() => {
    const observer = new ResizeObserver(measure);
    if (ref.current) observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (follow && pinned.current && ref.current) ref.current.scrollTop = ref.current.scrollHeight;
  }, [rows.length, follow]);
  const first = Math.max(0, Math.floor(view.top / height) - 8);
  const last = Math.min(rows.length, Math.ceil((view.top + view.size) / height) + 8);
  return html`<div ref=${ref} class=${`virtual ${name}`} onScroll=${measure} tabindex="0" role="list" aria-label=${label}>
    <div class="spacer" style=${{ height: `${rows.length * height}px` }} role="presentation">
      ${rows.slice(first, last).map((row, i) => html`<div class="slot" role="listitem" aria-setsize=${rows.length} aria-posinset=${first + i + 1} key=${first + i}
        style=${{ top: `${(first + i) * height}px`, height: `${height}px` }}>${render(row, first + i)}</div>`)}
    </div></div>`;
}

/** @param {{title: string, confirm: string, danger?: boolean, onConfirm: () => Promise<unknown>, onClose: () => void, children?: any}} props */
export function Confirm({ title, confirm, danger, onConfirm, onClose, children }) {
  const ref = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState(false);
  useEffect(() => ref.current?.showModal(), []);
  const close = () => ref.current?.close(); // gives the focus back
  const closed = () => {
    onClose();
    if (document.activeElement === document.body) /** @type {HTMLElement | null} */ (document.querySelector('main h1'))?.focus();
  };
  const act = async () => {
    setBusy(true);
    try {
      await onConfirm();
      close();
    } catch (e) {
      setError(e);
      setBusy(false);
    }
  };
  return html`<dialog ref=${ref} onClose=${closed} aria-labelledby="confirm-title">
    <h2 id="confirm-title">${title}</h2>
    <div class="dialog-body">${children}<${Problem} error=${error} /></div>
    <div class="actions end">
      <button type="button" onClick=${close}>Cancel</button>
      <button type="button" class=${danger ? 'danger' : 'primary'} disabled=${busy} onClick=${act}>${confirm}</button>
    </div></dialog>`;
}

/** @param {{items: [string, any][]}} props */
export const Facts = ({ items }) => html`<dl class="facts">${items.filter(([, value]) => value !== undefined && value !== null && value !== '' && value !== false)
  .map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

/** @param {{label: string, head: string[], children?: any}} props */
export const Table = ({ label, head, children }) => html`<div class="table" role="region" aria-label=${label} tabindex="0"><table>
  <thead><tr>${head.map((name) => html`<th scope="col" key=${name}>${name}</th>`)}</tr></thead><tbody>${children}</tbody></table></div>`;

/** Loads page after page of a list. */
/** @param {{next?: string, onMore: () => void}} props */
export const More = ({ next, onMore }) => (next ? html`<p><button type="button" onClick=${onMore}>Load more</button></p>` : null);

/**
 * Keeps the pages of a list that have been loaded; the first is read again every so often.
 * @template T
 * @param {(after: string, signal: AbortSignal) => Promise<{items: T[], next?: string, total?: number}>} load
 * @param {unknown[]} deps
 * @param {number} [everyMs]
 */
export function usePages(load, deps, everyMs = 0) {
  const first = useLoad((signal) => load('', signal), deps, everyMs);
  const [more, setMore] = useState(/** @type {{items: T[], next?: string, error?: any} | null} */ (null));
  useEffect(() => setMore(null), deps);
  const next = more ? more.next : first.data?.next;
  const onMore = async () => {
    try {
      const page = await load(next ?? '', new AbortController().signal);
      setMore({ items: [...(more?.items ?? []), ...page.items], next: page.next });
    } catch (error) {
      setMore({ items: more?.items ?? [], next, error });
    }
  };
  const seen = new Set();
  const items = [...(first.data?.items ?? []), ...(more?.items ?? [])].filter((item) => {
    const id = /** @type {any} */ (item).id ?? item;
    return !seen.has(id) && seen.add(id);
  });
  return { ...first, error: first.error ?? more?.error, items, next, onMore, total: first.data?.total };
}
