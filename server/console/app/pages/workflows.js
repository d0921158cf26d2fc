// Workflows: their runs, and what starts them next.
import { can, get, withQuery } from '../api.js';
import { duration, money } from '../format.js';
import { html } from '../html.js';
import { link, setQuery } from '../route.js';
import { Empty, Facts, Loaded, More, Page, Status, StatusFilter, Table, Time, Value, useLoad, usePages } from '../ui.js';

const LIVE_MS = 3000;

/** @param {{route: import('../types.d.ts').Route}} props */
export function WorkflowsPage({ route }) {
  return route.parts[1] ? html`<${RunPage} id=${route.parts[1]} />` : html`<${Overview} route=${route} />`;
}

/** @param {any} target */
const targetOf = (target) => target?.agent?.agent ?? target?.tool?.name ?? `${target?.steps?.length ?? 0} steps`;

/** @param {{route: import('../types.d.ts').Route}} props */
function Overview({ route }) {
  const workflow = route.query.get('workflow') ?? '';
  const status = route.query.get('status') ?? '';
  const runs = usePages(async (after, signal) => {
    const page = await get(withQuery('workflow/runs', { workflow, status, after, limit: 50 }), signal);
    return { items: /** @type {any[]} */ (page.items), next: page.next };
  }, [workflow, status], LIVE_MS);
  const starts = useLoad(async (signal) => {
    const [schedules, triggers] = await Promise.all([get('workflow/schedules', signal), get('workflow/event-triggers', signal)]);
    return [...schedules.items, ...triggers.items];
  }, []);
  return html`<${Page} title="Workflows" sub="Runs, and what starts them.">
    <h2>Starts</h2><${Loaded} load=${starts}>${() => (starts.data?.length ? html`<${Table} label="Starts" head=${['Workflow', 'When', 'Next', 'State']}>${starts.data.map((s) => html`<tr key=${s.id}>
      <td class="main"><button type="button" class="link" onClick=${() => setQuery({ workflow: s.workflowId })}>${s.workflowId || targetOf(s.target)}</button><div class="muted small">${s.description}</div></td>
      <td><code>${s.cron ?? (s.match ? `event ${s.match.type}` : '')}</code> ${s.timezone}</td><td><${Time} at=${s.nextRunAt} /></td><td><${Status} value=${s.paused ? 'paused' : 'active'} /></td></tr>`)}</${Table}>`
    : html`<p class="muted">Nothing starts a workflow by itself. Declare schedules and events under workflows: in the configuration.</p>`)}</${Loaded}>
    <h2>Runs</h2><div class="toolbar"><label><span>Workflow</span><input value=${workflow} onChange=${(/** @type {any} */ e) => setQuery({ workflow: e.target.value })} /></label>
      <${StatusFilter} value=${status} /></div>
    <${Loaded} load=${runs}>${() => (runs.items.length === 0 ? html`<${Empty} title="There are no runs.">They appear here when a schedule, an event or somebody starts a workflow.</${Empty}>`
    : html`<${Table} label="Runs" head=${['Run', 'Status', 'Began by', 'Began', 'Took']}>${runs.items.map((r) => html`<tr key=${r.id}><td class="main"><a href=${link(['workflows', r.id])}>${r.workflowId}</a><div class="muted small clip">${r.statusMessage}</div></td>
      <td><${Status} value=${r.status} /></td><td>${r.trigger?.kind}</td><td><${Time} at=${r.startedAt ?? r.createdAt} /></td><td class="num">${took(r)}</td></tr>`)}</${Table}><${More} next=${runs.next} onMore=${runs.onMore} />`)}</${Loaded}></${Page}>`;
}

/** @param {{startedAt?: string, completedAt?: string}} r */
const took = (r) => (r.startedAt && r.completedAt ? duration(Date.parse(r.completedAt) - Date.parse(r.startedAt)) : '');

/** @param {{id: string}} props */
function RunPage({ id }) {
  const load = useLoad((signal) => get(`workflow/runs/${encodeURIComponent(id)}`, signal), [id], LIVE_MS);
  const r = load.data;
  return html`<${Page} title=${r ? r.workflowId : 'Run'} sub=${r && html`<${Status} value=${r.status} /> <${Time} at=${r.createdAt} />`}><${Loaded} load=${load}>${() => html`
    ${r.statusMessage && html`<div class="notice">${r.statusMessage}</div>`}<${Facts} items=${[['Began by', r.trigger?.kind], ['Created by', r.createdBy], ['Took', took(r)]]} />
    <h2>Steps</h2><ul class="findings">${(r.steps ?? []).map((/** @type {any} */ s) => html`<li class="card" key=${s.id}><div class="line"><span><strong>${s.id}</strong> <${Status} value=${s.status} /> <span class="muted">${took({ startedAt: s.startedAt, completedAt: s.completedAt })} ${money(s.cost)}</span></span>
      ${s.turnId && can('runs:read') && html`<a href=${link(['turns', s.turnId])}>Open the turn</a>`}</div>${s.error && html`<p class="bad-text">${s.error}</p>`}
      ${s.output !== undefined && html`<details><summary>Output</summary><${Value} value=${s.output} /></details>`}${s.input !== undefined && html`<details><summary>Input</summary><${Value} value=${s.input} /></details>`}</li>`)}</ul>
    ${r.finalOutput !== undefined && html`<${Value} label="Output" value=${r.finalOutput} />`}`}</${Loaded}></${Page}>`;
}
