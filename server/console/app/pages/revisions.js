// The revisions of the configuration, the newest first.
import { get, withQuery } from '../api.js';
import { html } from '../html.js';
import { link } from '../route.js';
import { Empty, Loaded, More, Page, Table, Time, usePages } from '../ui.js';

/** @typedef {import('../types.d.ts').Revision} Revision */

/** The path of the configuration of a tenant, or of the base. @param {string} tenant */
export const configPath = (tenant) => (tenant ? `runtime/v1/tenants/${encodeURIComponent(tenant)}` : 'runtime/v1');

/** @param {{tenant?: string}} props */
export function RevisionTable({ tenant = '' }) {
  const list = usePages(async (after, signal) => {
    const page = await get(withQuery(`${configPath(tenant)}/revisions`, { after, limit: 50 }), signal);
    return { items: /** @type {(Revision & {id: string})[]} */ (page.revisions.map((/** @type {Revision} */ r) => ({ ...r, id: String(r.number) }))), next: page.next };
  }, [tenant]);
  return html`<${Loaded} load=${list}>${() => (list.items.length === 0 ? html`<${Empty} title="There are no revisions.">One is kept for each configuration that is published.</${Empty}>`
    : html`<${Table} label="Revisions" head=${['Revision', 'Published', 'By', 'Note']}>${list.items.map((r) => html`<tr key=${r.number}>
      <td class="main"><a href=${link(['revisions', r.hash], { tenant })}>${r.number} <code class="muted">${r.hash.slice(0, 12)}</code></a> ${r.current && html`<span class="status good">current</span>`}</td>
      <td><${Time} at=${r.created_at} /></td><td>${r.author}</td><td>${r.note}</td></tr>`)}</${Table}><${More} next=${list.next} onMore=${list.onMore} />`)}</${Loaded}>`;
}

export const RevisionsPage = () => html`<${Page} title="Revisions" sub="Every configuration that was published, the newest first."><${RevisionTable} /></${Page}>`;
