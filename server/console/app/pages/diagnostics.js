// What is wrong or suspicious in the configuration that the server runs.
import { get } from '../api.js';
import { count } from '../format.js';
import { html } from '../html.js';
import { link, setQuery } from '../route.js';
import { Empty, Loaded, Page, Status, useLoad } from '../ui.js';

/** @typedef {import('../types.d.ts').Finding} Finding */

/** @param {Finding} f */
const placeOf = (f) => (f.file ? `${f.file}:${f.line ?? 1}${f.column ? `:${f.column}` : ''}` : f.path ?? '');

/** @param {{list: Finding[]}} props */
export const Findings = ({ list }) => html`<ul class="findings">${list.map((f, i) => html`<li key=${i} class="card">
  <div><${Status} value=${f.severity} /> <code>${f.code}</code> ${f.agent && html`<a href=${link(['fleet', f.agent])}>${f.agent}</a>`}</div>
  <p>${f.message}</p>${f.hint && html`<p class="muted">${f.hint}</p>`}<code class="small place">${placeOf(f)}</code></li>`)}</ul>`;

/** @param {{route: import('../types.d.ts').Route}} props */
export function DiagnosticsPage({ route }) {
  const agent = route.query.get('agent') ?? '';
  const load = useLoad(async (signal) => /** @type {Finding[]} */ ((await get('runtime/v1/diagnostics', signal)).findings), []);
  const list = (load.data ?? []).filter((f) => !agent || f.agent === agent);
  return html`<${Page} title="Diagnostics" sub=${load.data && count(list.length, 'finding')}>
    ${agent && html`<p>Only of agent <strong>${agent}</strong>. <button type="button" class="link" onClick=${() => setQuery({ agent: undefined })}>Show all</button></p>`}
    <${Loaded} load=${load}>${() => (list.length ? html`<${Findings} list=${list} />`
    : html`<${Empty} title="Nothing is wrong.">Every agent resolves, and nothing in the configuration is suspicious.</${Empty}>`)}</${Loaded}></${Page}>`;
}
