// The sessions of the caller, those with the latest activity first.
import { get, withQuery } from '../api.js';
import { shortID } from '../format.js';
import { html } from '../html.js';
import { link, setQuery } from '../route.js';
import { Empty, Loaded, More, Page, Status, Table, Time, usePages } from '../ui.js';

/** @typedef {import('../types.d.ts').Session} Session */

/** @param {{route: import('../types.d.ts').Route}} props */
export function SessionsPage({ route }) {
  const agent = route.query.get('agent') ?? '';
  const label = route.query.get('label') ?? '';
  const list = usePages(async (after, signal) => {
    const page = await get(withQuery('runtime/v1/sessions', { agent_id: agent, label: label.includes('=') ? label : '', after, limit: 50 }), signal);
    return { items: /** @type {Session[]} */ (page.sessions), next: page.next };
  }, [agent, label], 5000);
  return html`<${Page} title="Sessions" sub="Those with the latest activity first.">
    <div class="toolbar"><label><span>Agent</span><input value=${agent} onChange=${(/** @type {any} */ e) => setQuery({ agent: e.target.value })} /></label>
      <label><span>Label</span><input placeholder="name=value" value=${label} onChange=${(/** @type {any} */ e) => setQuery({ label: e.target.value })} /></label></div>
    <${Loaded} load=${list}>${() => (list.items.length === 0 ? html`<${Empty} title="There are no sessions.">Begin one in the <a href="#/play">playground</a>.</${Empty}>`
    : html`<${Table} label="Sessions" head=${['Session', 'Agent', 'State', 'Last turn', 'Labels']}>${list.items.map((s) => html`<tr key=${s.id}><td class="main"><a href=${link(['sessions', s.id])} title=${s.id}>${shortID(s.id)}</a></td>
      <td>${s.current_agent_id ?? s.agent_id}</td><td><${Status} value=${s.state} /></td><td><${Time} at=${s.last_turn_at ?? s.created_at} /></td>
      <td>${Object.entries(s.labels ?? {}).map(([k, v]) => html`<span class="chip" key=${k}>${k}=${v}</span>`)}</td></tr>`)}</${Table}>
      <${More} next=${list.next} onMore=${list.onMore} />`)}</${Loaded}></${Page}>`;
}
