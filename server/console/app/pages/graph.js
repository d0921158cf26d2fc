// Who delegates and hands over to whom, as a drawing around one agent or of a small fleet.
import { get, withQuery } from '../api.js';
import { html } from '../html.js';
import { link, setQuery } from '../route.js';
import { Empty, Loaded, Page, useLoad } from '../ui.js';
import { loadAgents, targetsOf } from './fleet.js';

/** @typedef {import('../types.d.ts').Agent} Agent */

const MOST = 200;
const BOX = { width: 168, height: 40, gapX: 72, gapY: 18 };

/** Loads the agents that are drawn. @param {string} around @param {AbortSignal} signal */
async function loadGraph(around, signal) {
  /** @type {Map<string, Agent>} */
  const agents = new Map();
  if (!around) {
    const page = await get(withQuery('runtime/v1/fleet', { limit: MOST }), signal);
    for (const a of page.agents) agents.set(a.id, a);
    return { agents, total: page.total };
  }
  let ring = [around];
  while (ring.length && agents.size < MOST) {
    const ids = ring.slice(0, MOST - agents.size);
    const found = await loadAgents(ids, signal);
    for (const id of ids) agents.set(id, found.find((a) => a.id === id) ?? { id });
    ring = [...new Set(found.flatMap(targetsOf))].filter((id) => !agents.has(id));
  }
  return { agents, total: agents.size };
}

/** Gives each agent a column, one beyond those that call it, and a row. @param {Map<string, Agent>} agents @param {string} around */
function layOut(agents, around) {
  const called = new Set([...agents.values()].flatMap(targetsOf));
  /** @type {Map<string, number>} */
  const column = new Map();
  let front = around ? [around] : [...agents.keys()].filter((id) => !called.has(id));
  for (let x = 0; column.size < agents.size; x++) {
    if (!front.length) front = [...agents.keys()].filter((id) => !column.has(id)).slice(0, 1); // a circle
    for (const id of front) column.set(id, x);
    front = [...new Set(front.flatMap((id) => targetsOf(agents.get(id))))].filter((id) => agents.has(id) && !column.has(id));
  }
  /** @type {Map<number, number>} */
  const rows = new Map();
  /** @type {Map<string, {x: number, y: number}>} */
  const at = new Map();
  for (const [id, x] of column) {
    const y = rows.get(x) ?? 0;
    rows.set(x, y + 1);
    at.set(id, { x: x * (BOX.width + BOX.gapX), y: y * (BOX.height + BOX.gapY) });
  }
  return { at, width: (Math.max(0, ...column.values()) + 1) * (BOX.width + BOX.gapX), height: Math.max(1, ...rows.values()) * (BOX.height + BOX.gapY) };
}

/** @param {{route: import('../types.d.ts').Route}} props */
export function GraphPage({ route }) {
  const around = route.query.get('agent') ?? '';
  const load = useLoad((signal) => loadGraph(around, signal), [around]);
  return html`<${Page} title="Graph" sub=${around ? html`What <strong>${around}</strong> can reach. <button type="button" class="link" onClick=${() => setQuery({ agent: undefined })}>Show all agents</button>` : 'Delegates and handoffs of the agents.'}>
    <p class="legend"><span class="edge-key delegate"></span> delegates to <span class="edge-key handoff"></span> hands over to</p>
    <${Loaded} load=${load}>${() => load.data && (load.data.agents.size === 0 ? html`<${Empty} title="There are no agents.">Declare one under agents: in the configuration.</${Empty}>`
    : html`${load.data.total > MOST && html`<p class="muted">The first ${MOST} of ${load.data.total} agents. Open an agent to see its own graph.</p>`}<${Drawing} agents=${load.data.agents} around=${around} />`)}</${Loaded}></${Page}>`;
}

/** @param {{agents: Map<string, Agent>, around: string}} props */
function Drawing({ agents, around }) {
  const { at, width, height } = layOut(agents, around);
  /** @type {any[]} */
  const edges = [];
  for (const a of agents.values()) {
    for (const kind of /** @type {const} */ (['delegates', 'handoffs'])) {
      for (const to of a[kind] ?? []) {
        const [p, q] = [at.get(a.id), at.get(to)];
        if (!p || !q) continue;
        const [x1, y1, x2, y2] = [p.x + BOX.width, p.y + BOX.height / 2, q.x, q.y + BOX.height / 2];
        const bend = Math.max(40, Math.abs(x2 - x1) / 2);
        edges.push(html`<path key=${`${a.id} ${kind} ${to}`} class=${`edge ${kind}`} d=${`M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`} marker-end="url(#arrow)" />`);
      }
    }
  }
  return html`<div class="graph" tabindex="0" role="region" aria-label="Graph of agents"><svg width=${width + 16} height=${height + 16} viewBox=${`-8 -8 ${width + 16} ${height + 16}`}>
    <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" class="arrow" /></marker></defs>
    ${edges}${[...at].map(([id, p]) => html`<a key=${id} href=${link(['fleet', id])} aria-label=${id}><g transform=${`translate(${p.x},${p.y})`} class=${id === around ? 'node current' : 'node'}>
      <rect width=${BOX.width} height=${BOX.height} rx="6" /><text x="12" y="25">${id.length > 20 ? `${id.slice(0, 19)}…` : id}</text></g></a>`)}</svg></div>`;
}
