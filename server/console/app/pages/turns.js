// The turns that the caller may see, the newest first.
import { get, withQuery } from '../api.js';
import { compact, duration, money, shortID, tokens } from '../format.js';
import { html } from '../html.js';
import { link, setQuery } from '../route.js';
import { Empty, Loaded, More, Page, Status, StatusFilter, Table, Time, usePages } from '../ui.js';

/** @typedef {import('../types.d.ts').Turn} Turn */

const LIVE_MS = 2000;

/** How long a turn took, or has taken so far. @param {Turn} t */
export const timeOf = (t) => (t.started_at ? new Date(t.finished_at ?? Date.now()).getTime() - new Date(t.started_at).getTime() : 0);

/** Filters of the list by the parameter of the address, and what the API calls them. */
const FILTERS = /** @type {Record<string, string>} */ ({ agent: 'agent_id', status: 'status', q: 'q', slow: 'min_duration_ms', cost: 'min_cost', label: 'label', tenant: 'tenant' });

/** @param {{session?: string, filters?: Record<string, string>, empty?: any}} props */
export function TurnTable({ session, filters = {}, empty }) {
  const list = usePages(async (after, signal) => {
    const page = await get(withQuery('runtime/v1/turns', { session_id: session, ...filters, after, limit: 50 }), signal);
    return { items: /** @type {Turn[]} */ (page.turns), next: page.next };
  }, [session, JSON.stringify(filters)], LIVE_MS);
  const shown = list.items;
  return html`<${Loaded} load=${list}>${() => (shown.length === 0
    ? empty ?? html`<${Empty} title=${list.next ? 'None of the latest turns matches.' : 'No turn matches.'}>${list.next ? 'Load more to search older turns, or change the filters.' : 'Change the filters.'}</${Empty}><${More} next=${list.next} onMore=${list.onMore} />`
    : html`<${Table} label="Turns" head=${['Turn', 'Agent', 'Status', 'Began', 'Took', 'Steps', 'Tokens', 'Cost']}>
      ${shown.map((t) => html`<tr key=${t.id}><td class="main"><a href=${link(['turns', t.id])} title=${t.id}>${shortID(t.id)}</a>
        <div class="muted small clip">${t.waits_for?.[0]?.message ?? t.outcome?.termination?.detail ?? (typeof t.outcome?.response === 'string' ? t.outcome.response : '')}</div></td>
        <td>${t.agent_id}</td><td><${Status} value=${t.expired ? 'expired' : t.status} /></td><td><${Time} at=${t.created_at} /></td>
        <td class="num">${t.started_at ? duration(timeOf(t)) : ''}</td><td class="num">${t.steps}</td><td class="num">${compact(tokens(t.outcome?.usage))}</td><td class="num">${money(t.outcome?.cost)}</td></tr>`)}</${Table}>
      <${More} next=${list.next} onMore=${list.onMore} />`)}</${Loaded}>`;
}

/** @param {{route: import('../types.d.ts').Route}} props */
export function TurnsPage({ route }) {
  const filters = Object.fromEntries(Object.entries(FILTERS).map(([name, parameter]) => [parameter, route.query.get(name) ?? '']).filter(([, value]) => value));
  const field = (/** @type {string} */ name, /** @type {string} */ title, /** @type {any} */ more = {}) => html`<${FilterField} name=${name} title=${title} value=${route.query.get(name) ?? ''} ...${more} />`;
  const more = ['slow', 'cost', 'label', 'tenant'].some((name) => route.query.get(name));
  return html`<${Page} title="Turns" sub="Newest first. The list updates by itself.">
    <form onSubmit=${(/** @type {any} */ e) => e.preventDefault()}><div class="toolbar">
      ${field('agent', 'Agent')}<${StatusFilter} value=${filters.status ?? ''} />
      ${field('q', 'Text', { type: 'search', placeholder: 'Id, answer, error, question, metadata' })}</div>
      <details class="options" open=${more}><summary>More filters</summary><div class="toolbar">
        <label><span>At least</span><select value=${filters.min_duration_ms ?? ''} onChange=${(/** @type {any} */ e) => setQuery({ slow: e.target.value })}><option value="">any time</option>
          ${[1, 10, 60, 600].map((s) => html`<option key=${s} value=${s * 1000}>${duration(s * 1000)}</option>`)}</select></label>
        ${field('cost', 'Cost at least', { type: 'number', min: 0, step: 'any' })}${field('label', 'Label of the session', { placeholder: 'name=value' })}${field('tenant', 'Tenant')}</div></details></form>
    <${TurnTable} filters=${filters} empty=${Object.keys(filters).length ? undefined : html`<${Empty} title="There are no turns yet.">Start one in the <a href="#/play">playground</a>, or with <code>runtime run --server</code>.</${Empty}>`} /></${Page}>`;
}

/** A field whose value filters the list once it has been entered. @param {{name: string, title: string, value: string}} props */
function FilterField({ name, title, value, ...more }) {
  return html`<label class="grow"><span>${title}</span><input ...${more} value=${value} onChange=${(/** @type {any} */ e) => setQuery({ [name]: e.target.value.trim() })} /></label>`;
}
