// One agent: what it resolves to, in three stages, and who offers or removes each tool.
import { can, get, post, withQuery } from '../api.js';
import { JSONField } from '../form.js';
import { count, duration, number, percent } from '../format.js';
import { html, useState } from '../html.js';
import { link, setQuery } from '../route.js';
import { Empty, Facts, Loaded, Page, Problem, Status, Table, Time, useLoad } from '../ui.js';
import { Findings } from './diagnostics.js';
import { loadAgents, loadWeek } from './fleet.js';

/** @typedef {import('../types.d.ts').Explanation} Explanation */
/** @typedef {import('../types.d.ts').ToolChoice} ToolChoice */

/** @param {{route: import('../types.d.ts').Route}} props */
export function AgentPage({ route }) {
  const id = route.parts[1];
  const whole = can('config:read');
  const load = useLoad(async (signal) => {
    const path = `runtime/v1/agents/${encodeURIComponent(id)}/explain`;
    if (whole) return { explained: /** @type {Explanation} */ ((await get(path, signal)).explanation), agent: null };
    const [agent] = await loadAgents([id], signal);
    return { explained: null, agent };
  }, [id, whole]);
  const actions = html`<a class="button" href=${link(['turns'], { agent: id })}>Turns</a>
    ${whole && html`<a class="button" href=${link(['graph'], { agent: id })}>Graph</a>`}
    ${can('runs:write') && can('sessions:write') && html`<a class="button primary" href=${link(['play'], { agent: id })}>Chat</a>`}`;
  return html`<${Page} title=${id} sub="Agent" actions=${actions}>
    <${Activity} id=${id} />
    <${Loaded} load=${load}>${() => {
    if (load.data?.explained) return html`<${Explained} e=${load.data.explained} route=${route} />`;
    if (!load.data?.agent) return html`<${Empty} title="There is no such agent.">It may have been removed, or this key may not use it.</${Empty}>`;
    return html`<p>${load.data.agent.description}</p><p class="muted">What the agent is made of is shown to keys with the scope <code>config:read</code>.</p>`;
  }}</${Loaded}></${Page}>`;
}

/** Shows the latest turn of the caller, and how often turns fail. @param {{id: string}} props */
function Activity({ id }) {
  const load = useLoad(async (signal) => {
    const [page, week] = await Promise.all([can('runs:read') ? get(withQuery('runtime/v1/turns', { agent_id: id, limit: 1 }), signal) : { turns: [] }, can('metrics:read') ? loadWeek(id, signal) : []]);
    return { latest: page.turns[0], ended: week[0] };
  }, [id]);
  const { latest, ended } = load.data ?? {};
  if (!latest && !ended) return null;
  return html`<${Facts} items=${[['Your latest turn', latest && html`<a href=${link(['turns', latest.id])}><${Time} at=${latest.created_at} /></a> <${Status} value=${latest.status} />`],
    ['Failed in 7 days', ended && `${percent(ended.failed, ended.turns)} of ${count(ended.turns, 'turn')}`]]} />`;
}

/** Says why a tool is, or is not, offered. @param {ToolChoice} t */
function reasonOf(t) {
  const { field, index, entry } = t.catalog;
  const rule = field ? `${field}${entry ? `[${index}] “${entry}”` : ''}` : '';
  if (!t.catalog.visible) return rule ? `Removed by ${rule}.` : 'Removed: no allow field names it.';
  const why = rule ? `Allowed by ${rule}.` : 'Offered: no allow field is set.';
  if (t.gate.access === 'deny') return `Removed by the rule ${t.gate.rule} (${t.gate.path ?? t.gate.plugin}).`;
  if (t.gate.access === 'ask') return `${why} Each call needs approval by the rule ${t.gate.rule} (${t.gate.path ?? t.gate.plugin}).`;
  return why;
}

/** @param {ToolChoice} t */
const accessOf = (t) => (!t.catalog.visible || t.gate.access === 'deny' ? 'removed' : t.gate.access === 'ask' ? 'ask' : 'allow');

/** @param {{e: Explanation, route: import('../types.d.ts').Route}} props */
function Explained({ e, route }) {
  const q = route.query.get('tool') ?? '';
  const tools = (e.tools ?? []).filter((t) => t.id.toLowerCase().includes(q.toLowerCase()));
  return html`${!e.resolves && html`<div class="notice bad"><strong>The agent does not resolve.</strong> The findings below say why.</div>`}
    <${Facts} items=${[['Model', e.endpoint ? '' : e.model], ['Upstream', e.upstream_model], ['Provider', e.provider], ['Pool', e.pool?.join(', ')], ['Runs at', e.endpoint],
    ['Retries', e.endpoint ? '' : e.retried ? 'yes' : 'no'], ['Rounds', e.max_rounds], ['Plugins', e.plugins.join(', ')], ['Declared at', e.path && html`<code title=${e.places?.[e.path]}>${e.path}</code> <${Place} place=${e.places?.[e.path]} />`]]} />
    ${e.diagnostics.length > 0 && html`<h2>Findings</h2><${Findings} list=${e.diagnostics} />`}
    <h2>Tools <span class="muted">${count(e.offered_tools.length, 'tool is', 'tools are')} offered, of ${number(e.tools.length)}</span></h2>
    <div class="toolbar"><label class="grow"><span class="visually-hidden">Why does it have, or not have, a tool?</span>
      <input type="search" placeholder="Why does it (not) have tool …" value=${q} onInput=${(/** @type {any} */ ev) => setQuery({ tool: ev.target.value })} /></label></div>
    ${tools.length === 0 ? html`<${Empty} title=${q ? `No tool matches “${q}”.` : 'No tool is registered.'}>${q ? 'Nothing in this revision provides such a tool.' : 'Add one under tools: in the configuration.'}</${Empty}>`
    : html`<${Table} label="Tools" head=${['Tool', 'Offered by', 'Access', 'Why']}>${tools.map((t) => html`<tr key=${t.id}>
      <td class="main"><code>${t.id}</code></td><td title=${e.places?.[`tools.${t.id}`]}>${t.source.kind}${t.source.name ? ` ${t.source.name}` : ''}</td>
      <td><span class=${`status ${{ removed: 'bad', ask: 'warn', allow: 'good' }[accessOf(t)]}`}>${accessOf(t)}</span></td><td class="wrap" title=${placeOf(e, t)}>${reasonOf(t)} <${Place} place=${placeOf(e, t).split(', at ')[1]} /></td></tr>`)}</${Table}>`}
    <${CallCheck} agent=${e.agent} tools=${e.tools.map((t) => t.id)} route=${route} />
    <h2>Stages</h2><div class="stages">${e.stages.map((s) => html`<${Stage} key=${s.name} stage=${s} />`)}</div>
    ${(e.decisions ?? []).length > 0 && html`<h2>Where fields were decided</h2><${Table} label="Decisions" head=${['Field', 'Place', 'From']}>
      ${e.decisions?.map((d) => html`<tr key=${d.field}><td class="main"><code>${d.field}</code></td><td><code>${d.place}</code></td>
        <td>${d.patched ? html`<${Status} value="patch" />` : d.inherited_from}</td></tr>`)}</${Table}>`}`;
}

const DECISIONS = /** @type {Record<string, string>} */ ({
  allow: 'The call is made.', ask: 'The call waits for approval by a person.', deny: 'The call is denied, and the model is told so.',
  terminate: 'The call is denied, and the turn ends.', unavailable: 'The agent does not have this tool.',
});

/** Answers whether the agent may call a tool with some arguments. @param {{agent: string, tools: string[], route: import('../types.d.ts').Route}} props */
function CallCheck({ agent, tools, route }) {
  const [tool, setTool] = useState(route.query.get('call') ?? '');
  const [args, setArgs] = useState(/** @type {any} */ ({}));
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  const check = async (/** @type {any} */ ev) => {
    ev.preventDefault();
    try {
      setAnswer((await post(`runtime/v1/agents/${encodeURIComponent(agent)}/check-call`, { tool, arguments: args ?? {} })).call);
    } catch (error) {
      setAnswer({ error });
    }
  };
  return html`<h2>May it call a tool with some arguments?</h2><form class="card" onSubmit=${check}>
    <div class="field"><label for="call-tool">Tool</label><input id="call-tool" list="call-tools" required value=${tool} onInput=${(/** @type {any} */ ev) => setTool(ev.target.value)} />
      <datalist id="call-tools">${tools.map((id) => html`<option key=${id} value=${id} />`)}</datalist></div>
    <${JSONField} id="call-arguments" label="Arguments, as JSON" value=${args} onChange=${setArgs} rows="3" />
    <button type="submit">Check</button>
    <div role="status">${answer?.decision && html`<p><${Status} value=${answer.decision} /> ${DECISIONS[answer.decision]} ${answer.rule && html`<span class="muted">Rule <code>${answer.rule}</code> at <code>${answer.path}</code>.</span>`}</p>
      ${answer.conditions?.map((/** @type {string} */ c) => html`<p class="muted small" key=${c}>${c}</p>`)}
      ${answer.arguments_problem && html`<p class="bad-text">The arguments do not fit the tool: ${answer.arguments_problem}.</p>`}
      ${answer.undecided_plugins && html`<p class="muted">Decided when the call is made: ${answer.undecided_plugins.join(', ')}.</p>`}`}<${Problem} error=${answer?.error} /></div></form>`;
}

/** Returns where the rule about a tool stands in the configuration. @param {Explanation} e @param {ToolChoice} t */
function placeOf(e, t) {
  let path = e.path ?? '';
  if (t.catalog.field) path = `${e.path}.${t.catalog.field}[${t.catalog.index}]`;
  if (t.catalog.visible && t.gate.path) path = `${e.path}.${t.gate.path}`;
  const place = e.places?.[path];
  return place ? `${path}, at ${place}` : path;
}

/** Shows the end of a place, and all of it to those who hover. @param {{place?: string}} props */
const Place = ({ place }) => (place ? html`<code class="muted small" title=${place}>${place.split('/').pop()}</code>` : null);

/** @param {{stage: Explanation['stages'][number]}} props */
function Stage({ stage }) {
  const [all, setAll] = useState(false);
  const MOST = 8;
  const shown = all ? stage.choices : stage.choices.slice(0, MOST);
  return html`<section class="card stage"><h3>${stage.name} <span class="muted small">${duration(stage.duration_ns / 1e6)}</span></h3>
    <ol>${shown.map((c, i) => html`<li key=${i}><span class="chip">${c.action}</span> ${c.subject}${c.detail && html`<div class="muted small">${c.detail}</div>`}</li>`)}</ol>
    ${stage.choices.length > MOST && html`<button type="button" class="link" onClick=${() => setAll(!all)}>${all ? 'Show fewer' : `Show all ${stage.choices.length}`}</button>`}</section>`;
}
