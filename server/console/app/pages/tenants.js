// The tenants with an overlay of their own.
import { get, withQuery } from '../api.js';
import { html } from '../html.js';
import { link } from '../route.js';
import { Empty, Loaded, More, Page, Status, Table, Time, useLoad, usePages } from '../ui.js';
import { Findings } from './diagnostics.js';
import { RevisionTable, configPath } from './revisions.js';

/** @param {{route: import('../types.d.ts').Route}} props */
export function TenantsPage({ route }) {
  return route.parts[1] ? html`<${TenantPage} name=${route.parts[1]} />` : html`<${TenantList} />`;
}

function TenantList() {
  const list = usePages(async (after, signal) => {
    const page = await get(withQuery('runtime/v1/tenants', { after, limit: 100 }), signal);
    return { items: /** @type {any[]} */ (page.tenants.map((/** @type {any} */ t) => ({ ...t, id: t.tenant }))), next: page.next };
  }, []);
  return html`<${Page} title="Tenants" sub="Those whose overlay changes the configuration for them."><${Loaded} load=${list}>${() => (list.items.length === 0
    ? html`<${Empty} title="No tenant has an overlay.">Publish one with <code>runtime apply --tenant</code> or over HTTP.</${Empty}>`
    : html`<${Table} label="Tenants" head=${['Tenant', 'Revision', 'Published', 'By']}>${list.items.map((t) => html`<tr key=${t.id}><td class="main"><a href=${link(['tenants', t.id])}>${t.id}</a></td>
      <td>${t.number} <code class="muted">${t.hash.slice(0, 12)}</code></td><td><${Time} at=${t.created_at} /></td><td>${t.author}</td></tr>`)}</${Table}><${More} next=${list.next} onMore=${list.onMore} />`)}</${Loaded}></${Page}>`;
}

/** @param {{name: string}} props */
function TenantPage({ name }) {
  const path = configPath(name);
  const load = useLoad(async (signal) => {
    const [findings, variables] = await Promise.all([get(`${path}/diagnostics`, signal), get(`${path}/variables`, signal)]);
    return { findings: findings.findings, variables: variables.variables ?? [] };
  }, [name]);
  return html`<${Page} title=${name} sub="Tenant"><h2>Revisions</h2><${RevisionTable} tenant=${name} />
    <${Loaded} load=${load}>${() => html`<h2>Variables</h2>${load.data?.variables.length ? html`<${Table} label="Variables" head=${['Name', 'State', 'Value']}>${load.data.variables.map((/** @type {any} */ v) => html`<tr key=${v.name}>
      <td class="main"><code>${v.name}</code></td><td><${Status} value=${v.state} /></td><td>${v.secret ? html`<span class="muted">secret</span>` : v.value ?? ''}</td></tr>`)}</${Table}>` : html`<p class="muted">The configuration declares no variables.</p>`}
      <h2>Findings</h2>${load.data?.findings.length ? html`<${Findings} list=${load.data.findings} />` : html`<p class="muted">Nothing is wrong.</p>`}`}</${Loaded}></${Page}>`;
}
