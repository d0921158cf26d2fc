// Cost and health: what turns used by time, agent, model and tenant, and how the server is.
import { can, get, withQuery } from '../api.js';
import { compact, duration, money, number, percent, tokens } from '../format.js';
import { html } from '../html.js';
import { link, setQuery } from '../route.js';
import { Chart } from '../chart.js';
import { Empty, Facts, Loaded, Page, Table, useLoad } from '../ui.js';
import { loadAgents } from './fleet.js';
import { Health } from './health.js';

/** @typedef {import('../types.d.ts').UsageGroup} UsageGroup */
/** @typedef {import('../types.d.ts').UsageList} UsageList */

const LIVE_MS = 30_000;
const HOUR_MS = 3_600_000;
const MOST_ROWS = 100;
/** Spans of time, in hours. */
const SPANS = /** @type {Record<string, [string, number]>} */ ({ day: ['24 hours', 24], week: ['7 days', 168], month: ['30 days', 720], quarter: ['90 days', 2160] });

/** @param {UsageGroup} g */
const amounts = (g) => (g.costs ?? []).map(money).join(' + ');

/** What the chart can show. Only amounts in the first currency are drawn. */
const SERIES = /** @type {Record<string, {title: string, value: (g: UsageGroup) => number, text: (n: number, currency: string) => string, most?: boolean}>} */ ({
  cost: { title: 'Cost', value: (g) => g.costs?.[0]?.amount ?? 0, text: (n, currency) => (currency ? money({ amount: n, currency }) : '0') },
  tokens: { title: 'Tokens', value: (g) => tokens(g.usage), text: (n) => compact(n) },
  turns: { title: 'Turns', value: (g) => g.turns, text: (n) => number(n) },
  failed: { title: 'Failed turns', value: (g) => g.failed, text: (n) => number(n) },
  p95: { title: 'Duration, 95 %', value: (g) => g.latency?.p95_ms ?? 0, text: (n) => duration(n), most: true },
});

/** @param {{route: import('../types.d.ts').Route}} props */
export function UsagePage({ route }) {
  const value = (/** @type {string} */ name) => route.query.get(name) ?? '';
  const span = SPANS[value('span')] ? value('span') : 'day';
  const filter = { agent_id: value('agent'), model_id: value('model') };
  const load = useLoad(async (signal) => {
    const to = new Date(Math.ceil((Date.now() + 1) / HOUR_MS) * HOUR_MS);
    const from = new Date(to.getTime() - SPANS[span][1] * HOUR_MS);
    const read = (/** @type {string} */ by, /** @type {number} */ limit) =>
      /** @type {Promise<UsageList>} */ (get(withQuery('runtime/v1/usage', { ...filter, from: from.toISOString(), to: to.toISOString(), group_by: by, limit }), signal));
    const [all, hours, agents, models, tenants] = await Promise.all([read('', 1), read('hour', SPANS[span][1]), read('agent', MOST_ROWS), read('model', MOST_ROWS), read('tenant', MOST_ROWS)]);
    return { from: from.getTime(), to: to.getTime(), all: all.groups[0], hours: hours.groups, agents, models, tenants };
  }, [span, filter.agent_id, filter.model_id], LIVE_MS);
  return html`<${Page} title="Cost and health" sub="Turns that have ended, in your tenant.">
    <div class="toolbar"><label><span>Time</span><select value=${span} onChange=${(/** @type {any} */ e) => setQuery({ span: e.target.value })}>${Object.entries(SPANS).map(([name, [title]]) => html`<option key=${name} value=${name}>${title}</option>`)}</select></label>
      <${Filter} name="agent" title="Agent" value=${filter.agent_id} /><${Filter} name="model" title="Model" value=${filter.model_id} /></div>
    <${Loaded} load=${load}>${() => load.data && (load.data.all ? html`<${Usage} data=${load.data} shown=${value('chart')} days=${span !== 'day'} />`
    : html`<${Empty} title="No turn has ended in this time.">Start one in the <a href="#/play">playground</a>, or choose a longer time.</${Empty}>`)}</${Loaded}>
    <${Health} /></${Page}>`;
}

/** @param {{name: string, title: string, value: string}} props */
function Filter({ name, title, value }) {
  return html`<label><span>${title}</span><input value=${value} onChange=${(/** @type {any} */ e) => setQuery({ [name]: e.target.value.trim() })} /></label>`;
}

/** @param {{data: {from: number, to: number, all: UsageGroup, hours: UsageGroup[], agents: UsageList, models: UsageList, tenants: UsageList}, shown: string, days: boolean}} props */
function Usage({ data, shown, days }) {
  const { all } = data;
  const usage = all.usage;
  return html`<${Facts} items=${[['Turns', number(all.turns)], ['Failed', `${number(all.failed)}${all.failed ? ` (${percent(all.failed, all.turns)})` : ''}`], ['Canceled', number(all.canceled)], ['Cost', amounts(all)],
    ['Input tokens', number(usage.input_tokens ?? 0)], ['From the cache', usage.cached_tokens && number(usage.cached_tokens)], ['Output tokens', number(usage.output_tokens ?? 0)],
    ['Half of the turns took at most', all.latency && duration(all.latency.p50_ms)], ['95 % took at most', all.latency && duration(all.latency.p95_ms)]]} />
    <${Timeline} data=${data} shown=${SERIES[shown] ? shown : all.costs ? 'cost' : 'tokens'} days=${days} />
    <${Groups} title="Agents" list=${data.agents} name=${(/** @type {UsageGroup} */ g) => html`<a href=${link(['usage'], { agent: g.agent_id })}>${g.agent_id}</a>`} />
    <${AgentDetails} list=${data.agents} />
    <${Groups} title="Models" list=${data.models} name=${(/** @type {UsageGroup} */ g) => (g.model_id ? html`<a href=${link(['usage'], { model: g.model_id })}>${g.model_id}</a>` : html`<span class="muted">no model call</span>`)} />
    ${data.tenants.total > 1 && html`<${Groups} title="Tenants" list=${data.tenants} name=${(/** @type {UsageGroup} */ g) => g.tenant} />`}
    <p class="muted small">A turn counts for its own agent. Tokens and cost count for the agents and models that used them, delegates included.</p>`;
}

/** @param {{data: {from: number, to: number, hours: UsageGroup[]}, shown: string, days: boolean}} props */
function Timeline({ data, shown, days }) {
  const series = SERIES[shown];
  /** @type {Map<number, number>} */
  const sums = new Map();
  const begin = (/** @type {number} */ time) => (days ? new Date(time).setHours(0, 0, 0, 0) : time);
  for (let time = data.from; time < data.to; time += HOUR_MS) sums.set(begin(time), 0);
  for (const g of data.hours) {
    const at = begin(new Date(g.hour ?? 0).getTime());
    const before = sums.get(at) ?? 0;
    sums.set(at, series.most ? Math.max(before, series.value(g)) : before + series.value(g));
  }
  const currency = data.hours.find((g) => g.costs)?.costs?.[0]?.currency ?? '';
  return html`<h2>Over time</h2><div class="tabs" role="tablist" aria-label="Over time">${Object.entries(SERIES).map(([name, s]) => html`<button type="button" role="tab" key=${name} aria-selected=${name === shown} onClick=${() => setQuery({ chart: name })}>${s.title}</button>`)}</div>
    <${Chart} title=${series.title} days=${days} bars=${[...sums].map(([time, n]) => ({ time, value: n, text: series.text(n, currency) }))} />`;
}

/** Budgets by their field: their text, and what a turn used on average. */
const BUDGETS = /** @type {[string, (value: any, budgets: any) => string, (g: UsageGroup) => number | undefined][]} */ ([
  ['max_tokens', (n) => `${number(n)} tokens`, (g) => tokens(g.usage) / g.turns],
  ['max_cost', (n, b) => (b.currency ? money({ amount: n, currency: b.currency }) : `cost ${n}`), (g) => (g.costs?.length === 1 ? g.costs[0].amount / g.turns : undefined)],
  ['max_duration', (text) => String(text), () => undefined], ['max_model_calls', (n) => `${number(n)} model calls`, () => undefined], ['max_tool_calls', (n) => `${number(n)} tool calls`, () => undefined],
]);

/** The budgets of the agents of a list, and those that run at peers. @param {{list: UsageList}} props */
function AgentDetails({ list }) {
  const ids = list.groups.map((g) => g.agent_id ?? '').filter(Boolean);
  const whole = can('models:read') && can('config:read') && ids.length > 0;
  const load = useLoad((signal) => (whole ? loadAgents(ids, signal) : Promise.resolve([])), [whole, ids.join(' ')]);
  const rows = (load.data ?? []).flatMap((a) => BUDGETS.filter(([field]) => a.budgets?.[field] !== undefined).map(([field, text, used]) => {
    const group = list.groups.find((g) => g.agent_id === a.id);
    return { key: `${a.id} ${field}`, agent: a.id, budget: text(a.budgets?.[field], a.budgets), used: group?.turns ? used(group) : undefined, most: Number(a.budgets?.[field]) };
  }));
  const peers = list.groups.filter((g) => load.data?.some((a) => a.id === g.agent_id && a.remote));
  return html`${rows.length > 0 && html`<h2>Budgets of a turn</h2><${Table} label="Budgets" head=${['Agent', 'Budget', 'Used on average']}>${rows.map((r) => html`<tr key=${r.key}>
      <td class="main"><a href=${link(['fleet', r.agent])}>${r.agent}</a></td><td>${r.budget}</td><td class="num">${r.used === undefined ? html`<span class="muted">not measured</span>` : percent(r.used, r.most)}</td></tr>`)}</${Table}>`}
    ${peers.length > 0 && html`<${Groups} title="Peers" list=${{ ...list, groups: peers, total: peers.length }} name=${(/** @type {UsageGroup} */ g) => html`<a href=${link(['fleet', g.agent_id ?? ''])}>${g.agent_id}</a>`} />`}`;
}

/** @param {{title: string, list: UsageList, name: (g: UsageGroup) => any}} props */
function Groups({ title, list, name }) {
  return html`<h2>${title}</h2><${Table} label=${title} head=${[title.slice(0, -1), 'Turns', 'Failed', 'Input', 'Output', 'Cost', '50 %', '95 %']}>
    ${list.groups.map((g, i) => html`<tr key=${i}><td class="main">${name(g)}</td><td class="num">${number(g.turns)}</td><td class="num">${g.failed ? percent(g.failed, g.turns) : ''}</td>
      <td class="num">${compact(g.usage.input_tokens ?? 0)}</td><td class="num">${compact(g.usage.output_tokens ?? 0)}</td><td class="num">${amounts(g)}</td>
      <td class="num">${g.latency && duration(g.latency.p50_ms)}</td><td class="num">${g.latency && duration(g.latency.p95_ms)}</td></tr>`)}</${Table}>
    ${list.total > list.groups.length && html`<p class="muted">The first ${MOST_ROWS} of ${number(list.total)}, by their tokens.</p>`}`;
}
