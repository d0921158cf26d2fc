// All agents that the caller may use.
import { can, get, withQuery } from '../api.js';
import { count, percent } from '../format.js';
import { html, useEffect, useState } from '../html.js';
import { link, setQuery } from '../route.js';
import { Empty, Loaded, More, Page, Table, useLoad, usePages } from '../ui.js';

/** @typedef {import('../types.d.ts').Agent} Agent */
/** @typedef {import('../types.d.ts').Fleet} Fleet */
/** @typedef {import('../types.d.ts').Finding} Finding */
/** @typedef {import('../types.d.ts').UsageGroup} UsageGroup */

const PAGE = 50;
const TYPING_MS = 200;

/** @param {string} q @param {string} after @param {AbortSignal} signal */
export async function loadFleet(q, after, signal) {
  const page = /** @type {Fleet} */ (await get(withQuery('runtime/v1/fleet', { q, after, limit: PAGE }), signal));
  return { items: page.agents, next: page.next, total: page.total };
}

/** Loads the agents with these ids, at most 200. @param {string[]} ids @param {AbortSignal} signal */
export async function loadAgents(ids, signal) {
  const page = /** @type {Fleet} */ (await get(withQuery('runtime/v1/fleet', { ids, limit: ids.length }), signal));
  return page.agents;
}

const WEEK_MS = 7 * 24 * 3_600_000;

/** Loads how many turns ended in the last 7 days, by agent. @param {string} agent @param {AbortSignal} signal */
export async function loadWeek(agent, signal) {
  const from = new Date(Date.now() - WEEK_MS).toISOString();
  return /** @type {UsageGroup[]} */ ((await get(withQuery('runtime/v1/usage', { from, agent_id: agent, group_by: 'agent', limit: 10_000 }), signal)).groups);
}

/** Returns the agents that an agent calls or hands over to. @param {Agent | undefined} agent */
export const targetsOf = (agent) => [...(agent?.delegates ?? []), ...(agent?.handoffs ?? [])];

/** @param {{route: import('../types.d.ts').Route}} props */
export function FleetPage({ route }) {
  const q = route.query.get('q') ?? '';
  const [typed, setTyped] = useState(q);
  useEffect(() => {
    const timer = setTimeout(() => typed !== q && setQuery({ q: typed }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const whole = can('config:read');
  const list = usePages((after, signal) => loadFleet(q, after, signal), [q]);
  const shown = list.total !== undefined;
  // The findings of all agents take the server longer than a page of agents.
  const findings = useLoad(async (signal) => (whole && shown ? /** @type {Finding[]} */ ((await get('runtime/v1/diagnostics', signal)).findings) : []), [whole, shown]);
  /** @type {Map<string, number>} */
  const warnings = new Map();
  for (const f of findings.data ?? []) if (f.agent) warnings.set(f.agent, (warnings.get(f.agent) ?? 0) + 1);
  const counted = can('metrics:read');
  const week = useLoad(async (signal) => (counted && shown ? loadWeek('', signal) : []), [counted, shown]);
  const ended = new Map((week.data ?? []).map((g) => [g.agent_id ?? '', g]));
  const head = ['Agent', ...(whole ? ['Model', 'Tools', 'Delegates', 'Findings'] : []), ...(counted ? ['Failed in 7 days'] : []), ''];
  return html`<${Page} title="Fleet" sub=${list.total === undefined ? 'All agents that you may use.' : count(list.total, 'agent')}>
    <div class="toolbar"><label class="grow"><span class="visually-hidden">Search agents</span>
      <input type="search" placeholder="Search agents by id or description" value=${typed} onInput=${(/** @type {any} */ e) => setTyped(e.target.value)} /></label></div>
    <${Loaded} load=${list}>${() => (list.items.length === 0
    ? html`<${Empty} title=${q ? `No agent matches “${q}”.` : 'There are no agents.'}>${q ? 'Change the search.' : 'Declare one under agents: in the configuration.'}</${Empty}>`
    : html`<${Table} label="Agents" head=${head}>${list.items.map((a) => html`<${AgentRow} key=${a.id} agent=${a} whole=${whole} warnings=${warnings.get(a.id) ?? 0} counted=${counted} ended=${ended.get(a.id)} />`)}</${Table}>
      <${More} next=${list.next} onMore=${list.onMore} />`)}</${Loaded}></${Page}>`;
}

/** @param {{agent: Agent, whole: boolean, warnings: number, counted: boolean, ended?: UsageGroup}} props */
function AgentRow({ agent, whole, warnings, counted, ended }) {
  const links = targetsOf(agent);
  return html`<tr><td class="main"><a href=${link(['fleet', agent.id])}>${agent.id}</a>${agent.description && html`<div class="muted small clip">${agent.description}</div>`}</td>
    ${whole && html`<td>${agent.remote ? html`<span class="chip">peer</span>` : agent.model_id}</td>
    <td class="num" title=${(agent.tools ?? []).join(', ')}>${agent.tools?.length ?? 0}</td>
    <td class="num" title=${links.join(', ')}>${links.length || html`<span class="muted">–</span>`}</td>
    <td class="num">${warnings ? html`<a href=${link(['diagnostics'], { agent: agent.id })}><span class="status warn">${warnings}</span></a>` : html`<span class="muted">–</span>`}</td>`}
    ${counted && html`<td class="num">${ended ? html`${percent(ended.failed, ended.turns)} <span class="muted small">of ${count(ended.turns, 'turn')}</span>` : html`<span class="muted">–</span>`}</td>`}
    <td>${can('runs:write') && can('sessions:write') && html`<a class="button small" href=${link(['play'], { agent: agent.id })} aria-label=${`Chat with ${agent.id}`}>Chat</a>`}</td></tr>`;
}
