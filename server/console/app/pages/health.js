// How the server is: its queue, the processes, MCP servers, providers, and the slowest tools and models.
import { get, getText } from '../api.js';
import { compact, count, duration, number, percent } from '../format.js';
import { html, useState } from '../html.js';
import { Facts, Loaded, Status, Table, Time, useLoad } from '../ui.js';

/** @typedef {import('../types.d.ts').Queue} Queue */

const LIVE_MS = 30_000;

/** @typedef {{name: string, labels: Record<string, string>, value: number}} Sample */

/** Reads samples in the format of Prometheus. @param {string} text @returns {Sample[]} */
function parseSamples(text) {
  /** @type {Sample[]} */
  const samples = [];
  for (const line of text.split('\n')) {
    const match = /^([a-z_:][\w:]*)(?:\{(.*)\})? (\S+)/i.exec(line);
    if (!match) continue;
    /** @type {Record<string, string>} */
    const labels = {};
    for (const [, name, value] of (match[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[name] = value.replace(/\\(.)/g, (_, c) => (c === 'n' ? '\n' : c));
    samples.push({ name: match[1], labels, value: Number(match[3]) });
  }
  return samples;
}

/** Sums a histogram by a label, the slowest first. @param {Sample[]} samples @param {string} name @param {string} label */
function slowest(samples, name, label) {
  /** @type {Map<string, {sum: number, count: number, failed: number}>} */
  const rows = new Map();
  for (const s of samples) {
    const part = s.name === `${name}_sum` ? 'sum' : s.name === `${name}_count` ? 'count' : '';
    const key = s.labels[label];
    if (!part || !key) continue;
    const row = rows.get(key) ?? { sum: 0, count: 0, failed: 0 };
    row[part] += s.value;
    if (part === 'count' && s.labels.error_type) row.failed += s.value;
    rows.set(key, row);
  }
  return [...rows].filter(([, row]) => row.count).toSorted(([, a], [, b]) => b.sum / b.count - a.sum / a.count);
}

/** The state of the server, from its queue, its readiness and the metrics of the process that answers. */
export function Health() {
  const [all, setAll] = useState(false);
  const load = useLoad(async (signal) => {
    const [queue, ready, metrics] = await Promise.all([get('runtime/v1/queue', signal), getText('readyz?verbose', signal), getText('metrics', signal).catch(() => '')]);
    return { queue: /** @type {Queue} */ (queue), ready: ready.trim().split('\n'), samples: parseSamples(metrics), metrics };
  }, [], LIVE_MS);
  return html`<${Loaded} load=${load}>${() => {
    if (!load.data) return null;
    const { queue, ready, samples, metrics } = load.data;
    const one = (/** @type {string} */ name) => samples.filter((s) => s.name === name).reduce((sum, s) => sum + s.value, 0);
    const started = one('process_start_time_seconds');
    const tools = slowest(samples, 'gen_ai_execute_tool_duration_seconds', 'gen_ai_tool_name');
    const models = slowest(samples, 'gen_ai_client_operation_duration_seconds', 'gen_ai_request_model');
    const most = all ? tools.length + models.length : 10;
    const servers = samples.filter((s) => s.name === 'agentruntime_tool_server_connections').map((s) => ({
      id: s.labels.server, open: s.value, failures: samples.find((f) => f.name === 'agentruntime_tool_server_failures' && f.labels.server === s.labels.server)?.value ?? 0,
    }));
    return html`<h2>Queue <span class="muted small">of all tenants</span></h2><${Facts} items=${[['Pending turns', number(queue.pending)], ['Running turns', number(queue.running)], ['Waiting turns', number(queue.waiting)]]} />
      ${queue.workers.length > 0 && html`<${Table} label="Processes" head=${['Process', 'Turns', 'Last sign of life']}>${queue.workers.map((w) => html`<tr key=${w.id}><td class="main"><code>${w.id}</code>${w.id === queue.worker && html` <span class="chip">answers this page</span>`}</td>
        <td class="num">${number(w.turns)}</td><td><${Time} at=${w.heartbeat_at} /></td></tr>`)}</${Table}>`}
      ${servers.length > 0 && html`<h2>MCP servers</h2><${Table} label="MCP servers" head=${['Server', 'State', 'Connections', 'Failures in a row']}>${servers.map((s) => html`<tr key=${s.id}><td class="main"><code>${s.id}</code></td>
        <td><${Status} value=${s.failures ? 'failed' : s.open ? 'active' : 'idle'} /></td><td class="num">${number(s.open)}</td><td class="num">${number(s.failures)}</td></tr>`)}</${Table}>`}
      <h2>This server</h2><${Facts} items=${[['State', html`<${Status} value=${ready[0]} />`], ['Serves', ready.slice(1).join(' ')], ['Turns at work', metrics && number(one('agentruntime_turn_active'))],
      ['Model calls repeated', metrics && number(one('agentruntime_model_retries_total'))], ['Memory', one('process_resident_memory_bytes') > 0 && `${compact(one('process_resident_memory_bytes'))}B`], ['Runs for', started > 0 && duration(Date.now() - started * 1000)]]} />
      ${!metrics && html`<p class="muted">This server does not serve its metrics, or this key may not read them.</p>`}
      <${Slowest} title="Providers" rows=${slowest(samples, 'gen_ai_client_operation_duration_seconds', 'gen_ai_provider_name')} />
      <${Slowest} title="Slowest tools" rows=${tools.slice(0, most)} /><${Slowest} title="Slowest models" rows=${models.slice(0, most)} />
      ${!all && Math.max(tools.length, models.length) > most && html`<button type="button" class="link" onClick=${() => setAll(true)}>Show all</button>`}`;
  }}</${Loaded}>`;
}

/** @param {{title: string, rows: [string, {sum: number, count: number, failed: number}][]}} props */
function Slowest({ title, rows }) {
  if (rows.length === 0) return null;
  return html`<h2>${title} <span class="muted small">since the server started, of all tenants</span></h2><${Table} label=${title} head=${['Name', 'Mean', 'Calls', 'Failed']}>${rows.map(([name, row]) => html`<tr key=${name}>
    <td class="main"><code>${name}</code></td><td class="num">${duration(1000 * row.sum / row.count)}</td><td class="num">${count(row.count, 'call')}</td><td class="num">${row.failed ? percent(row.failed, row.count) : ''}</td></tr>`)}</${Table}>`;
}
