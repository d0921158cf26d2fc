// One session: its turns, what was said, and the snapshots to continue from.
import { can, get } from '../api.js';
import { count, shortID } from '../format.js';
import { html } from '../html.js';
import { link } from '../route.js';
import { Empty, Facts, Loaded, Page, Status, Time, Value, save, useLoad } from '../ui.js';
import { Message } from './turn.js';
import { TurnTable } from './turns.js';

/** @param {{route: import('../types.d.ts').Route}} props */
export function SessionPage({ route }) {
  const id = route.parts[1];
  const load = useLoad(async (signal) => {
    const path = `runtime/v1/sessions/${encodeURIComponent(id)}`;
    const [session, exported] = await Promise.all([get(path, signal), get(`${path}/export`, signal)]);
    return { session: /** @type {import('../types.d.ts').Session} */ (session), exported };
  }, [id]);
  const s = load.data?.session;
  const actions = s && html`<button type="button" onClick=${() => save(`session-${id}.json`, 'application/json', JSON.stringify(load.data?.exported, null, 2))}>Export JSON</button>
    ${can('runs:write') && html`<a class="button primary" href=${link(['play'], { agent: s.current_agent_id ?? s.agent_id, session: id })}>Continue</a>`}`;
  return html`<${Page} title=${`Session ${shortID(id)}`} sub=${s && html`<${Status} value=${s.state} /> ${s.current_agent_id ?? s.agent_id} · <${Time} at=${s.last_turn_at ?? s.created_at} />`} actions=${actions}>
    <${Loaded} load=${load}>${() => s && html`
      <${Facts} items=${[['Agent', s.agent_id], ['Has the conversation', s.current_agent_id], ['Labels', Object.entries(s.labels ?? {}).map(([k, v]) => `${k}=${v}`).join(', ')]]} />
      ${can('runs:read') && html`<h2>Turns</h2><${TurnTable} session=${id} empty=${html`<${Empty} title="The session has no turns.">Continue it in the playground.</${Empty}>`} />`}
      <${Snapshots} list=${load.data?.exported.snapshots ?? []} session=${s} />`}</${Loaded}></${Page}>`;
}

/** @param {{list: any[], session: import('../types.d.ts').Session}} props */
function Snapshots({ list, session }) {
  const messages = list.flatMap((snapshot) => snapshot.messages ?? []);
  return html`<h2>Snapshots <span class="muted">${list.length || ''}</span></h2>
    ${list.length === 0 && html`<p class="muted">A snapshot is kept when a turn succeeds.</p>`}
    <ol class="findings">${list.map((snapshot) => html`<li class="card" key=${snapshot.id}><div class="line"><span><code title=${snapshot.id}>${shortID(snapshot.id)}</code> <span class="muted"><${Time} at=${snapshot.created_at} /> · ${count((snapshot.messages ?? []).length, 'message')}</span>
      ${snapshot.id === session.snapshot_id && html` <span class="chip">latest</span>`}</span>
      ${can('runs:write') && html`<a class="button small" href=${link(['play'], { agent: session.agent_id, session: session.id, snapshot: snapshot.id })}>Continue from here</a>`}</div>
      ${['custom', 'plugins', 'artifacts'].map((name) => snapshot[name] && html`<details key=${name}><summary>${name}</summary><${Value} value=${snapshot[name]} /></details>`)}</li>`)}</ol>
    ${messages.length > 0 && html`<h2>Conversation</h2><div class="chat">${messages.map((m, i) => html`<${Message} key=${i} role=${m.role} parts=${m.parts} />`)}</div>`}`;
}
