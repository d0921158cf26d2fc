// A conversation with an agent: streaming answers, tool calls and approvals in place.
import { can, connection, get, post, turnPath } from '../api.js';
import { duration, money, number, shortID, tokens } from '../format.js';
import { JSONField } from '../form.js';
import { html, useEffect, useRef, useState } from '../html.js';
import { link, setQuery } from '../route.js';
import { Confirm, Copy, Empty, Page, Problem, Status, useLoad } from '../ui.js';
import { curlOf, goOf, pythonOf } from '../snippets.js';
import { loadFleet } from './fleet.js';
import { InteractionCard, isPending, loadInteractions } from './interaction.js';
import { Answer, Message, useTimeline } from './turn.js';

/** @typedef {import('../types.d.ts').Part} Part */
/** @typedef {import('../types.d.ts').Revision} Revision */
/** @typedef {{id: string, parts: Part[]}} Asked */

const MAX_FILE = 5 << 20;

/** @param {File} file @returns {Promise<Part>} */
async function partOf(file) {
  if (file.size > MAX_FILE) throw new Error(`${file.name} has more than ${MAX_FILE >> 20} MiB`);
  const bytes = new Uint8Array(await file.arrayBuffer());
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  const type = file.type || 'application/octet-stream';
  return { type: type.startsWith('image/') ? 'image' : 'file', blob: { media_type: type, data: btoa(binary), name: file.name } };
}

/** Makes a turn of a lane, in a new session unless there is one. @param {string} session @param {Record<string, unknown>} body */
async function startTurn(session, body) {
  const id = session || (await post('runtime/v1/sessions', { agent_id: body.agent_id })).id;
  return { session: id, turn: (await post('runtime/v1/turns', { session_id: id, ...body })).id };
}

/** Suffixes of the parameters of lanes in the address. A second lane gets the same messages. */
const LANES = ['', '2'];

/** @param {{route: import('../types.d.ts').Route}} props */
export function PlaygroundPage({ route }) {
  const value = (/** @type {string} */ name) => route.query.get(name) ?? '';
  const compares = Boolean(value('compare'));
  const lanes = compares ? LANES : LANES.slice(0, 1);
  const [text, setText] = useState(value('prompt'));
  const [files, setFiles] = useState(/** @type {Part[]} */ ([]));
  const [variables, setVariables] = useState(/** @type {any} */ (undefined));
  const [turns, setTurns] = useState(/** @type {Record<string, Asked[]>} */ ({}));
  const [error, setError] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState(false);
  const box = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const parts = () => [...(text ? [{ type: 'text', text }] : []), ...files];
  const started = lanes.some((n) => value(`session${n}`));
  const ready = lanes.every((n) => value(`agent${n}`));
  const startOf = (/** @type {string} */ n) => ({
    session: value(`session${n}`),
    body: {
      agent_id: value(`agent${n}`), input: [{ role: 'user', parts: parts() }], ...(variables === undefined ? {} : { variables }), ...(value(`model${n}`) ? { model_id: value(`model${n}`) } : {}),
      ...(value(`revision${n}`) ? { revision: value(`revision${n}`) } : {}),
      ...(value('snapshot') && !n && !turns[n]?.length ? { snapshot_id: value('snapshot') } : {}),
    },
  });
  const send = async () => {
    if (!ready || !parts().length || busy) return;
    if (!/** @type {HTMLTextAreaElement} */ (document.getElementById('variables')).checkValidity()) {
      setError(new Error('The variables are not valid JSON.'));
      return;
    }
    setBusy(true);
    setError(null);
    const asked = parts();
    const results = await Promise.allSettled(lanes.map((n) => startTurn(startOf(n).session, startOf(n).body)));
    /** @type {Record<string, string | undefined>} */
    const sessions = {};
    results.forEach((result, i) => {
      if (result.status === 'rejected') {
        setError(result.reason);
        return;
      }
      const { session, turn } = result.value;
      sessions[`session${lanes[i]}`] = session;
      setTurns((old) => ({ ...old, [lanes[i]]: [...(old[lanes[i]] ?? []), { id: turn, parts: asked }] }));
    });
    if (results.some((r) => r.status === 'fulfilled')) {
      setQuery({ ...sessions, prompt: undefined });
      setText('');
      setFiles([]);
    }
    setBusy(false);
    box.current?.focus();
  };
  const attach = async (/** @type {any} */ e) => {
    try {
      const added = await Promise.all([...e.target.files].map(partOf));
      setFiles((old) => [...old, ...added]);
    } catch (problem) {
      setError(problem);
    }
    e.target.value = '';
  };
  const restart = (/** @type {Record<string, string | undefined>} */ query) => {
    setTurns({});
    setQuery({ session: undefined, session2: undefined, snapshot: undefined, prompt: undefined, ...query });
  };
  if (!can('sessions:write')) return html`<${Page} title="Playground"><${Empty} title="This key may not begin sessions.">It needs the scope <code>sessions:write</code>.</${Empty}></${Page}>`;
  const session = value('session');
  return html`<${Page} title="Playground" sub=${session ? html`Session <a href=${link(['sessions', session])}>${shortID(session)}</a>${value('snapshot') ? `, from snapshot ${shortID(value('snapshot'))}` : ''}` : 'A new session begins with the first message.'}
    actions=${html`<${Copy} label="Copy as curl" text=${() => curlOf(startOf(''))} /><${Copy} label="Copy as Go" text=${() => goOf(startOf(''))} /><${Copy} label="Copy as Python" text=${() => pythonOf(startOf(''))} />
      <button type="button" class="small" aria-pressed=${compares} onClick=${() => restart({ compare: compares ? undefined : 'on', agent2: compares ? undefined : value('agent'), model2: undefined, revision2: undefined })}>${compares ? 'Do not compare' : 'Compare'}</button>
      ${started && html`<button type="button" class="small" onClick=${() => restart({})}>New session</button>`}`}>
    ${lanes.map((n) => html`<${LaneChoice} key=${n} n=${n} agent=${value(`agent${n}`)} model=${value(`model${n}`)} revision=${value(`revision${n}`)} />`)}
    <details class="options"><summary>Variables</summary><${JSONField} id="variables" label="Variables, as a JSON object" value=${variables} onChange=${setVariables} /></details>
    <div class=${compares ? 'lanes' : ''}>${lanes.map((n) => html`<section key=${n} class="chat" aria-live="polite" aria-label=${`Conversation with ${value(`agent${n}`) || 'an agent'}`}>
      ${compares && html`<h2>${value(`agent${n}`)} <span class="muted small">${value(`model${n}`)} ${shortID(value(`revision${n}`))}</span></h2>`}
      ${!turns[n]?.length && html`<${Greeting} agent=${value(`agent${n}`)} />`}
      ${turns[n]?.map((t) => html`<${Exchange} key=${t.id} asked=${t} />`)}</section>`)}</div>
    <${Problem} error=${error} />
    <form class="composer" onSubmit=${(/** @type {any} */ e) => { e.preventDefault(); send(); }}>
      ${files.length > 0 && html`<div>${files.map((f, i) => html`<button type="button" class="chip" key=${i} aria-label=${`Remove ${f.blob?.name}`} onClick=${() => setFiles(files.filter((_, n) => n !== i))}>${f.blob?.name} ×</button>`)}</div>`}
      <label class="visually-hidden" for="message">Message</label>
      <textarea id="message" ref=${box} rows="3" placeholder="Message. Enter sends, Shift+Enter begins a line." value=${text} onInput=${(/** @type {any} */ e) => setText(e.target.value)}
        onKeyDown=${(/** @type {any} */ e) => { if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) { e.preventDefault(); send(); } }}></textarea>
      <div class="actions"><button type="submit" class="primary" disabled=${busy || !ready}>Send</button>
        <label class="button">Attach<input type="file" class="visually-hidden" multiple onChange=${attach} /></label></div></form></${Page}>`;
}

/** Says what to do first. @param {{agent: string}} props */
function Greeting({ agent }) {
  const none = useLoad(async (signal) => !agent && (await loadFleet('', '', signal)).total === 0, [agent]);
  return none.data ? html`<${Empty} title="There are no agents.">Declare one under <code>agents:</code> in the configuration.</${Empty}>`
    : html`<${Empty} title=${agent ? `Say something to ${agent}.` : 'Choose an agent.'}>Its answer streams in here, with the tools that it calls and what it asks you.</${Empty}>`;
}

/** Chooses the agent, the model and, with the right to publish, the revision of a lane. @param {{n: string, agent: string, model: string, revision: string}} props */
function LaneChoice({ n, agent, model, revision }) {
  const agents = useLoad((signal) => loadFleet(agent, '', signal), [agent]);
  const known = agents.data?.items.find((a) => a.id === agent);
  const revisions = useLoad(async (signal) => /** @type {Revision[]} */ (can('config:write') ? (await get('runtime/v1/revisions', signal)).revisions : []), []);
  return html`<div class="toolbar"><label class="grow"><span>${n ? 'Compare with agent' : 'Agent'}</span><input list=${`agents${n}`} required value=${agent} placeholder="Choose an agent" title=${known?.description} onInput=${(/** @type {any} */ e) => setQuery({ [`agent${n}`]: e.target.value })} />
      <datalist id=${`agents${n}`}>${agents.data?.items.map((a) => html`<option key=${a.id} value=${a.id}>${a.description ?? ''}</option>`)}</datalist></label>
    <label><span>Model</span><input value=${model} placeholder=${known?.model_id ?? 'the agent’s own'} onChange=${(/** @type {any} */ e) => setQuery({ [`model${n}`]: e.target.value.trim() })} /></label>
    ${(revisions.data ?? []).length > 1 && html`<label><span>Revision</span><select value=${revision} onChange=${(/** @type {any} */ e) => setQuery({ [`revision${n}`]: e.target.value })}><option value="">current</option>
      ${revisions.data?.map((r) => html`<option key=${r.number} value=${r.hash}>${r.number}${r.note ? ` ${r.note}` : ''}</option>`)}</select></label>`}</div>`;
}

/** What was asked, and what the agent did about it. @param {{asked: Asked}} props */
function Exchange({ asked }) {
  const { timeline, error } = useTimeline(asked.id);
  const [canceling, setCanceling] = useState(false);
  const [waits, setWaits] = useState(/** @type {import('../types.d.ts').Interaction[]} */ ([]));
  const end = timeline.rows.find((r) => r.kind === 'end' && r.depth === 0);
  const mark = timeline.events.findLast((e) => ['run_waiting', 'run_finish', 'tool_call_resumed'].includes(e.event_type))?.seq ?? 0;
  const refresh = async () => setWaits((await loadInteractions(asked.id)).filter(isPending));
  useEffect(() => {
    if (mark) refresh().catch(() => {});
  }, [mark, connection.epoch]);
  return html`<${Message} role="user" parts=${asked.parts} /><${Answer} timeline=${timeline} />
    ${waits.map((i) => html`<div class="card attention" key=${i.id}><${InteractionCard} item=${i} compact onDone=${refresh} /></div>`)}
    <${Problem} error=${error} />
    <div class="muted small line"><span><a href=${link(['turns', asked.id])}>Turn ${shortID(asked.id)}</a> <${Status} value=${end?.status ?? (waits.length ? 'waiting' : 'running')} />
      ${end && html` ${duration(end.time - timeline.begin)} · ${number(tokens(end.usage))} tokens ${money(end.cost)}`}
      ${end && end.status !== 'succeeded' && html` · ${end.note}`}</span>
      ${!end && html`<button type="button" class="link" onClick=${() => setCanceling(true)}>Stop</button>`}</div>
    ${canceling && html`<${Confirm} title="Stop the turn?" confirm="Stop" danger onClose=${() => setCanceling(false)} onConfirm=${() => post(turnPath(asked.id, 'cancel'), { reason: 'stopped in the console' })} />`}`;
}
