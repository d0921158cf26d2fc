// The frame of the console: key entry, navigation, and the page that the address names.
import { can, connection, get, readCaller, savedKey, useKey } from './api.js';
import { html, render, useEffect, useState } from './html.js';
import { currentRoute, link } from './route.js';
import { Empty, Page, Problem, useConnection } from './ui.js';

/** @typedef {import('./types.d.ts').Route} Route */

/** Pages by the first part of their address: what they need, and where they are. */
const PAGES = /** @type {Record<string, {title: string, scope: string, load: (route: Route) => Promise<any>}>} */ ({
  fleet: { title: 'Fleet', scope: 'models:read', load: async (r) => (r.parts[1] ? (await import('./pages/agent.js')).AgentPage : (await import('./pages/fleet.js')).FleetPage) },
  graph: { title: 'Graph', scope: 'config:read', load: async () => (await import('./pages/graph.js')).GraphPage },
  turns: { title: 'Turns', scope: 'runs:read', load: async (r) => (r.parts[1] ? (await import('./pages/turn.js')).TurnPage : (await import('./pages/turns.js')).TurnsPage) },
  sessions: { title: 'Sessions', scope: 'sessions:read', load: async (r) => (r.parts[1] ? (await import('./pages/session.js')).SessionPage : (await import('./pages/sessions.js')).SessionsPage) },
  inbox: { title: 'Inbox', scope: 'runs:read', load: async () => (await import('./pages/inbox.js')).InboxPage },
  play: { title: 'Playground', scope: 'runs:write', load: async () => (await import('./pages/playground.js')).PlaygroundPage },
  workflows: { title: 'Workflows', scope: 'runs:read', load: async () => (await import('./pages/workflows.js')).WorkflowsPage },
  usage: { title: 'Cost and health', scope: 'metrics:read', load: async () => (await import('./pages/usage.js')).UsagePage },
  revisions: { title: 'Revisions', scope: 'config:read', load: async (r) => (r.parts[1] ? (await import('./pages/revision.js')).RevisionPage : (await import('./pages/revisions.js')).RevisionsPage) },
  tenants: { title: 'Tenants', scope: 'config:read', load: async () => (await import('./pages/tenants.js')).TenantsPage },
  diagnostics: { title: 'Diagnostics', scope: 'config:read', load: async () => (await import('./pages/diagnostics.js')).DiagnosticsPage },
});

const THEME = 'console.theme';
const THEMES = ['auto', 'light', 'dark'];

/** @param {string} theme */
function applyTheme(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem(THEME, theme);
}

function ThemeButton() {
  const [theme, setTheme] = useState(localStorage.getItem(THEME) ?? 'auto');
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  const change = () => {
    applyTheme(next);
    setTheme(next);
  };
  return html`<button type="button" class="quiet" onClick=${change} aria-label=${`Theme: ${theme}. Change to ${next}`}>Theme: ${theme}</button>`;
}

function KeyForm() {
  const [key, setKey] = useState('');
  const [error, setError] = useState(/** @type {any} */ (null));
  const submit = async (/** @type {any} */ e) => {
    e.preventDefault();
    try {
      await useKey(key.trim());
      if (!connection.caller?.authenticated) setError(new Error('The server does not accept this key.'));
    } catch (problem) {
      setError(problem);
    }
  };
  return html`<main class="key" id="main"><form class="card" onSubmit=${submit}>
    <h1>Agent console</h1>
    <p>This server needs a key. You see and do what the key allows. It stays in this tab until you close it.</p>
    <div class="field"><label for="key">API key or access token</label>
      <input id="key" type="password" autocomplete="off" spellcheck="false" required value=${key} onInput=${(/** @type {any} */ e) => setKey(e.target.value)} /></div>
    <${Problem} error=${error} />
    <button class="primary" type="submit">Open the console</button></form></main>`;
}

/** @param {{at: string}} props */
function Nav({ at }) {
  const items = Object.entries(PAGES).filter(([, page]) => can(page.scope));
  return html`<nav aria-label="Pages">${items.map(([name, page]) => html`<a key=${name} href=${link([name])} aria-current=${at === name ? 'page' : undefined}>${page.title}</a>`)}</nav>`;
}

/** @param {{route: Route, epoch: number}} props */
function CurrentPage({ route, epoch }) {
  const name = route.parts[0];
  const page = PAGES[name];
  const allowed = page && can(page.scope);
  const at = route.parts.join('/');
  const [shown, setShown] = useState(/** @type {{at: string, Show?: any, error?: any}} */ ({ at: '' }));
  useEffect(() => {
    let left = false;
    const fail = (/** @type {any} */ error) => {
      if (left) return;
      setShown({ at, error });
      get('runtime/v1/caller').catch(() => {}); // tells whether the server is gone
    };
    if (allowed) page.load(route).then((Show) => left || setShown({ at, Show }), fail);
    return () => {
      left = true;
    };
  }, [at, allowed, shown.error && epoch]);
  useEffect(() => {
    /** @type {HTMLElement | null} */ (document.querySelector('main h1'))?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [shown.at]);
  if (!page) return html`<${Page} title="Not found"><${Empty} title="There is no such page.">Choose one from the navigation.</${Empty}></${Page}>`;
  if (!allowed) return html`<${Page} title=${page.title}><${Empty} title="This key may not open the page.">It needs the scope <code>${page.scope}</code>.</${Empty}></${Page}>`;
  if (shown.error) return html`<${Page} title=${page.title}><${Problem} error=${shown.error} /></${Page}>`;
  const { Show } = shown;
  return shown.at === at && Show ? html`<${Show} key=${at} route=${route} />` : html`<p class="muted" role="status">Loading…</p>`;
}

function App() {
  const { online, caller, epoch } = useConnection();
  const [route, setRoute] = useState(currentRoute());
  useEffect(() => {
    const change = () => setRoute(currentRoute());
    addEventListener('hashchange', change);
    readCaller().catch(() => {});
    return () => removeEventListener('hashchange', change);
  }, []);
  const gone = !online && html`<div class="gone" role="alert">The server does not answer. Trying again…</div>`;
  if (!caller) return html`${gone}<p class="muted loading" role="status">Connecting…</p>`;
  if (!caller.authenticated) return html`${gone}<${KeyForm} />`;
  const shown = route.parts.length ? route : { ...route, parts: [Object.entries(PAGES).find(([, page]) => can(page.scope))?.[0] ?? 'fleet'] };
  return html`<button type="button" class="skip" onClick=${() => document.getElementById('main')?.focus()}>Skip to the content</button>
    <div class="shell"><aside><div class="side">
      <a class="brand" href="#/">Agent console</a>
      <${Nav} at=${shown.parts[0]} />
      <div class="who"><span title=${`Tenant ${caller.tenant}`}>${caller.subject} · ${caller.tenant}</span><${ThemeButton} />
        ${savedKey() && html`<button type="button" class="quiet" onClick=${() => useKey('')}>Forget the key</button>`}</div>
    </div></aside><main id="main" tabindex="-1">${gone}<${CurrentPage} route=${shown} epoch=${epoch} /></main></div>`;
}

// The page is loaded while the server is asked who the caller is.
const first = currentRoute();
PAGES[first.parts[0] ?? 'fleet']?.load(first).catch(() => {});
applyTheme(localStorage.getItem(THEME) ?? 'auto');
render(html`<${App} />`, /** @type {HTMLElement} */ (document.getElementById('app')));
