// One revision: what it changed, its document, and the way back to it.
import { can, get, post, withQuery } from '../api.js';
import { brief, count } from '../format.js';
import { html, useState } from '../html.js';
import { link, setQuery } from '../route.js';
import { Confirm, Empty, Facts, Loaded, Page, Status, Time, Value, useLoad } from '../ui.js';
import { configPath } from './revisions.js';

/** @typedef {import('../types.d.ts').Revision} Revision */
/** @typedef {import('../types.d.ts').DiffReport} DiffReport */

/** @param {{report: DiffReport}} props */
function Diff({ report }) {
  if (report.same && !report.entries?.length) return html`<p class="muted">No agent changes.</p>`;
  return html`<p>${count(report.agents.length, 'agent')} ${report.agents.length === 1 ? 'differs' : 'differ'}. ${report.widened ? html`<span class="status warn">access is widened</span>` : html`<span class="status good">access is not widened</span>`}
    ${report.lost && html` <span class="status warn">tools are lost</span>`}</p>
    <ul class="findings">${report.agents.map((a) => html`<li class="card" key=${a.agent}><div><${Status} value=${a.kind} /> <strong>${a.agent}</strong></div>
      <ul class="changes">${a.changes.map((c, i) => html`<li key=${i}><${Change} change=${c} /></li>`)}</ul></li>`)}
      ${(report.entries ?? []).map((e) => html`<li class="card" key=${e.path}><span class="chip">${e.kind}</span> <code>${e.path}</code></li>`)}</ul>`;
}

/** @param {{change: import('../types.d.ts').Change}} props */
const Change = ({ change: c }) => html`<span class="chip">${c.kind}</span> <code>${c.field}${c.subject ? ` ${c.subject}` : ''}</code> ${c.through && html`<span class="muted">through ${c.through.join(' → ')}</span> `}
  ${c.old !== undefined && html`<span class="diff del">${brief(c.old)}</span> `}${c.new !== undefined && html`<span class="diff add">${brief(c.new)}</span> `}
  ${c.reason && html`<span class="muted">${c.reason}</span> `}${c.widened && html`<span class="status warn">widens access</span>`}`;

/** @param {{route: import('../types.d.ts').Route}} props */
export function RevisionPage({ route }) {
  const hash = route.parts[1];
  const tenant = route.query.get('tenant') ?? '';
  const against = route.query.get('from') ?? '';
  const path = configPath(tenant);
  const load = useLoad(async (signal) => {
    const [revision, { revisions }] = /** @type {[Revision, any]} */ (await Promise.all([get(`${path}/revisions/${encodeURIComponent(hash)}`, signal), get(`${path}/revisions?limit=50`, signal)]));
    const current = /** @type {Revision[]} */ (revisions).find((r) => r.current);
    const from = against === 'current' ? current?.hash : revision.parent;
    const report = from && from !== revision.hash ? /** @type {DiffReport} */ (await get(withQuery(`${path}/revisions/${encodeURIComponent(hash)}/diff`, { from }), signal)) : null;
    return { revision, current, report };
  }, [hash, tenant, against]);
  const [rolling, setRolling] = useState(false);
  const r = load.data?.revision;
  const rollback = async () => {
    try {
      const answer = await post(`${path}/revisions/${encodeURIComponent(hash)}/rollback`, { note: `rollback to ${r?.number} in the console` }, { 'If-Match': `"${load.data?.current?.hash ?? 'none'}"` });
      location.hash = link(['revisions', answer.hash], { tenant });
    } catch (error) {
      load.reload(); // somebody may have published meanwhile
      throw error;
    }
  };
  const mayRoll = r && !r.current && (can('config:write') || tenant && can('config:write:own'));
  return html`<${Page} title=${r ? `Revision ${r.number}` : 'Revision'} sub=${r && html`<${Time} at=${r.created_at} /> by ${r.author}`}
    actions=${mayRoll && html`<button type="button" class="danger" onClick=${() => { setQuery({ from: 'current' }); setRolling(true); }}>Roll back to this</button>`}>
    <${Loaded} load=${load}>${() => r && html`<${Facts} items=${[['Hash', html`<code>${r.hash.slice(0, 16)}</code>`], ['Replaced', r.parent && html`<a href=${link(['revisions', r.parent], { tenant })}><code>${r.parent.slice(0, 12)}</code></a>`], ['Note', r.note], ['Current', r.current ? 'yes' : 'no']]} />
      <div class="toolbar"><label><span>Compare with</span><select value=${against} onChange=${(/** @type {any} */ e) => setQuery({ from: e.target.value })}><option value="">the revision it replaced</option><option value="current">the current revision</option></select></label></div>
      <h2>Changes</h2>${load.data?.report ? html`<${Diff} report=${load.data.report} />` : html`<${Empty} title="There is nothing to compare with.">${against ? 'This is the current revision.' : 'The first revision replaced none.'}</${Empty}>`}
      ${r.findings && html`<h2>Findings</h2><${Value} value=${r.findings} />`}
      ${r.document && html`<details><summary>Document</summary><${Value} value=${r.document} /></details>`}
      ${rolling && html`<${Confirm} title=${`Roll back to revision ${r.number}?`} confirm="Roll back" danger onClose=${() => setRolling(false)} onConfirm=${rollback}>
        <p>Its document is published once more, and replaces revision ${load.data?.current?.number}. This changes:</p>${load.data?.report && html`<${Diff} report=${load.data.report} />`}</${Confirm}>`}`}</${Loaded}></${Page}>`;
}
