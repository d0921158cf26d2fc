// One turn: its timeline, conversation and raw events, while it runs and afterwards.
import { can, followEvents, get, post, turnPath } from '../api.js';
import { compact, duration, fullTime, money, number, shortID, tokens } from '../format.js';
import { html, useEffect, useMemo, useState } from '../html.js';
import { Markdown } from '../markdown.js';
import { link, setQuery } from '../route.js';
import { Timeline, fieldsOf } from '../timeline.js';
import { Confirm, Copy, Empty, Facts, Loaded, Page, Problem, Status, Time, Value, VirtualList, save, useLoad } from '../ui.js';
import { InteractionCard, isPending, loadInteractions } from './interaction.js';
import { ModelRequest } from './request.js';
import { timeOf } from './turns.js';

/** @typedef {import('../types.d.ts').Turn} Turn */
/** @typedef {import('../types.d.ts').Row} Row */

const ROW = 36;
const LIVE = new Set(['pending', 'running', 'waiting']);
const KINDS = /** @type {Record<string, string>} */ ({ run: 'Agent', step: 'Step', text: 'Text', reasoning: 'Thought', model: 'Model', tool: 'Tool', wait: 'Wait', notice: 'Note', end: 'End' });

/** Follows the events of a turn and renders at most once a frame. @param {string} id */
export function useTimeline(id) {
  const timeline = useMemo(() => new Timeline(), [id]);
  const [, draw] = useState(0);
  const [error, setError] = useState(/** @type {any} */ (null));
  useEffect(() => {
    const abort = new AbortController();
    let frame = 0;
    setError(null);
    followEvents(id, (events) => {
      timeline.add(events);
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        draw((n) => n + 1);
      });
    }, abort.signal).catch(setError);
    return () => {
      abort.abort();
      cancelAnimationFrame(frame);
    };
  }, [id]);
  return { timeline, error };
}

/** @param {{route: import('../types.d.ts').Route}} props */
export function TurnPage({ route }) {
  const id = route.parts[1];
  const { timeline, error } = useTimeline(id);
  const latest = timeline.events.at(-1);
  // The record of the turn changes with these events alone.
  const mark = timeline.events.findLast((e) => ['run_start', 'run_waiting', 'run_finish', 'tool_call_resumed'].includes(e.event_type) && !e.path?.length)?.seq ?? 0;
  const load = useLoad(async (signal) => {
    const turn = /** @type {Turn} */ (await get(turnPath(id), signal));
    return { turn, interactions: await loadInteractions(id, signal) };
  }, [id]);
  useEffect(() => {
    if (mark) load.reload();
  }, [mark]);
  const [confirming, setConfirming] = useState(false);
  const [exporting, setExporting] = useState(false);
  const turn = load.data?.turn;
  const tab = route.query.get('tab') ?? 'timeline';
  const tabs = [['timeline', 'Timeline'], ['conversation', 'Conversation'], ['events', 'Raw events']];
  const exportTurn = async () => save(`turn-${id}.json`, 'application/json', JSON.stringify({ turn, interactions: load.data?.interactions, events: timeline.events }, null, 2));
  const again = turn?.input?.map((m) => m.parts.map((p) => p.text ?? '').join('\n')).join('\n') ?? '';
  const actions = turn && html`
    <button type="button" onClick=${exportTurn}>Export JSON</button>
    ${!LIVE.has(turn.status) && html`<button type="button" aria-expanded=${exporting} onClick=${() => setExporting(!exporting)}>Export eval case</button>`}
    ${can('runs:write') && !LIVE.has(turn.status) && html`<a class="button" href=${link(['play'], { agent: turn.agent_id, session: turn.session_id, prompt: again })}>Run again</a>`}
    ${can('runs:write') && LIVE.has(turn.status) && html`<button type="button" class="danger" onClick=${() => setConfirming(true)}>Cancel the turn</button>`}`;
  return html`<${Page} title=${`Turn ${shortID(id)}`} sub=${turn && html`<${Status} value=${turn.status} /> ${turn.agent_id} · <${Time} at=${turn.created_at} />`} actions=${actions}>
    <${Loaded} load=${load}>${() => turn && html`<${TurnFacts} turn=${turn} now=${timeline.last} />
      ${(load.data?.interactions ?? []).filter(isPending).map((i) => html`<div class="card attention" key=${i.id}><${InteractionCard} item=${i} onDone=${load.reload} /></div>`)}
      ${exporting && html`<${EvalCase} id=${id} />`}
      <div class="tabs" role="tablist" aria-label="Views">${tabs.map(([name, title]) => html`<button key=${name} type="button" role="tab" id=${`tab-${name}`} aria-controls="view" aria-selected=${tab === name}
        onClick=${() => setQuery({ tab: name })}>${title}</button>`)}</div>
      <${Problem} error=${error} />
      <div role="tabpanel" id="view" aria-labelledby=${`tab-${tab}`}>
      ${tab === 'timeline' && html`<${TimelineView} turn=${turn} timeline=${timeline} count=${latest?.seq ?? 0} live=${LIVE.has(turn.status)} route=${route} />`}
      ${tab === 'conversation' && html`<${Conversation} turn=${turn} timeline=${timeline} />`}
      ${tab === 'events' && html`<${RawEvents} timeline=${timeline} />`}</div>
      ${confirming && html`<${Confirm} title="Cancel the turn?" confirm="Cancel the turn" danger onClose=${() => setConfirming(false)}
        onConfirm=${() => post(turnPath(id, 'cancel'), { reason: 'canceled in the console' })}>
        <p>Its model call and tools are stopped. What they have done already stays done.</p></${Confirm}>`}`}</${Loaded}></${Page}>`;
}

/** The files of an eval case that repeats a turn. @param {{id: string}} props */
function EvalCase({ id }) {
  const load = useLoad(async (signal) => /** @type {import('../types.d.ts').EvalCase} */ (await get(turnPath(id, 'eval-case'), signal)), [id]);
  return html`<section class="card" aria-label="Eval case"><${Loaded} load=${load}>${() => {
    const made = /** @type {import('../types.d.ts').EvalCase} */ (load.data);
    const replies = made.tool_replies.map((reply) => `${JSON.stringify(reply)}\n`).join('');
    return html`<${CaseFile} folder="evals" name=${`${made.id}.yaml`} text=${made.cases} />
      ${replies && html`<${CaseFile} folder="evals/recordings" name=${`${made.id}.tools.jsonl`} text=${replies} />`}
      ${made.unknown_variables && html`<p>Add the values of these variables: <code>${made.unknown_variables.join(', ')}</code></p>`}
      <p class="muted small">The texts are not redacted. The case expects what the turn did: change it to what the agent should have done.</p>`;
  }}</${Loaded}></section>`;
}

/** @param {{folder: string, name: string, text: string}} props */
const CaseFile = ({ folder, name, text }) => html`<h3><code>${folder}/${name}</code></h3>
  <div class="actions"><button type="button" class="small" onClick=${() => save(name, 'text/plain', text)}>Save</button><${Copy} text=${text} /></div><${Value} label=${name} value=${text} />`;

/** @param {{turn: Turn, now: number}} props */
function TurnFacts({ turn, now }) {
  const t = turn.outcome?.termination;
  const took = turn.finished_at || !turn.started_at ? timeOf(turn) : Math.max(0, now - Date.parse(turn.started_at));
  const usage = turn.outcome?.usage;
  return html`${t && turn.status === 'failed' && html`<div class="notice bad"><strong>${t.code ?? t.type}.</strong> ${t.detail}</div>`}
    <${Facts} items=${[['Agent', html`<a href=${link(['fleet', turn.agent_id])}>${turn.agent_id}</a>`], ['Session', can('sessions:read') ? html`<a href=${link(['sessions', turn.session_id])} title=${turn.session_id}>${shortID(turn.session_id)}</a>` : shortID(turn.session_id)],
    ['Owner', `${turn.owner.subject} · ${turn.owner.tenant}`], ['Took', turn.started_at ? duration(took) : ''], ['Steps', String(turn.steps)],
    ['Tokens', usage && `${compact(tokens(usage))} (${compact(usage.input_tokens ?? 0)} in, ${compact(usage.output_tokens ?? 0)} out)`], ['Cost', money(turn.outcome?.cost)],
    ['Ended', turn.finished_at && html`<span title=${t?.detail}>${t?.type ?? turn.status}</span>`], ['Due', turn.not_before && fullTime(turn.not_before)], ['Worker', turn.worker && shortID(turn.worker)]]} />`;
}

/** Opens the detail of a row, or closes it. @param {number} seq */
const choose = (seq) => setQuery({ event: seq ? String(seq) : undefined });

/** @param {{turn: Turn, timeline: Timeline, count: number, live: boolean, route: import('../types.d.ts').Route}} props */
function TimelineView({ turn, timeline, count, live, route }) {
  const [cut, setCut] = useState(0);
  const rows = cut ? timeline.rows.filter((r) => r.seq <= cut) : timeline.rows;
  const chosen = Number(route.query.get('event') ?? 0);
  const row = chosen ? rows.find((r) => r.seq === chosen) : undefined;
  const total = Math.max(1, timeline.last - timeline.begin);
  const move = (/** @type {KeyboardEvent} */ e) => {
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[e.key];
    if (!step || !rows.length) return;
    e.preventDefault();
    const at = rows.findIndex((r) => r.seq === chosen);
    choose(rows[Math.min(rows.length - 1, Math.max(0, at + step))].seq);
  };
  if (!rows.length && !cut) return html`<${Empty} title="Nothing has happened yet.">Events appear here as soon as the turn runs.</${Empty}>`;
  return html`<div class="toolbar tight"><label class="grow"><span>Events up to ${number(cut || count)} of ${number(count)}</span>
      <input type="range" min="1" max=${Math.max(1, count)} value=${cut || count} onInput=${(/** @type {any} */ e) => setCut(Number(e.target.value) >= count ? 0 : Number(e.target.value))} /></label></div>
    <div class="split"><div onKeyDown=${move}><${VirtualList} rows=${rows} height=${ROW} label="Timeline" follow=${live && !cut} class="timeline" render=${(/** @type {Row} */ r) => html`
      <button type="button" class=${`row ${r.kind}`} aria-pressed=${r.seq === chosen} onClick=${() => choose(r.seq === chosen ? 0 : r.seq)}>
        <span class="indent" style=${{ width: `${r.depth * 18}px` }}></span><span class="kind">${KINDS[r.kind] ?? r.kind}</span>
        <span class="what">${r.title} <span class="muted">${r.text ? r.text.join('').slice(0, 160) : r.note ?? ''}</span></span>
        ${r.status && html`<${Status} value=${r.status} />`}
        <span class="took">${r.end && r.end > r.time ? duration(r.end - r.time) : ''}</span>
        <span class="bar" aria-hidden="true"><i style=${{ left: `${100 * (r.time - timeline.begin) / total}%`, width: `${Math.max(0.6, 100 * ((r.end ?? r.time) - r.time) / total)}%` }}></i></span>
      </button>`} /></div>
      ${row && html`<${Detail} key=${row.seq} turn=${turn} timeline=${timeline} row=${row} onClose=${() => choose(0)} />`}</div>`;
}

/** @param {{turn: Turn, timeline: Timeline, row: Row, onClose: () => void}} props */
function Detail({ turn, timeline, row, onClose }) {
  return html`<aside class="detail" aria-label="Detail"><header><h3>${row.title}</h3><button type="button" class="quiet" onClick=${onClose} aria-label="Close the detail">Close</button></header>
    <${Facts} items=${[['Event', String(row.seq)], ['At', fullTime(row.time)], ['Took', row.end && row.end > row.time ? duration(row.end - row.time) : ''], ['Status', row.status && html`<${Status} value=${row.status} />`],
    ['Tokens', row.usage && number(tokens(row.usage))], ['Cost', money(row.cost)], ['Note', row.note]]} />
    ${row.text && html`<${Markdown} text=${row.text.join('')} />`}
    ${row.arguments !== undefined && html`<${Value} label="Arguments" value=${row.arguments} />`}
    ${row.output && html`<${Value} label="Output" value=${row.output.join('')} />`}
    ${row.result !== undefined && html`<${Result} result=${row.result} />`}
    ${row.kind === 'model' && html`<${ModelRequest} turn=${turn} timeline=${timeline} row=${row} />`}
    ${!row.text && row.event && html`<details><summary>Event</summary><${Value} value=${fieldsOf(row.event)} /></details>`}</aside>`;
}

/** @param {{result: any}} props */
function Result({ result }) {
  const content = Array.isArray(result?.content) ? result.content : null;
  if (!content) return html`<${Value} label="Result" value=${result} />`;
  return html`<h4>Result</h4>${content.map((/** @type {any} */ part, /** @type {number} */ i) => html`<${PartView} key=${i} part=${part} plain />`)}`;
}

const IMAGE = /^image\/(png|jpeg|gif|webp)$/;

/** @param {{part: import('../types.d.ts').Part, plain?: boolean}} props */
function PartView({ part, plain }) {
  if (part.text !== undefined) return plain ? html`<${Value} value=${part.text} />` : html`<${Markdown} text=${part.text} />`;
  const blob = part.blob;
  if (blob?.data && IMAGE.test(blob.media_type)) return html`<img class="picture" alt=${blob.name ?? 'Image'} src=${`data:${blob.media_type};base64,${blob.data}`} />`;
  if (blob) return html`<p class="chip">${blob.name ?? blob.media_type}${blob.uri ? ` at ${blob.uri}` : ''}</p>`;
  if (part.reasoning?.text) return html`<details><summary>Reasoning</summary><${Markdown} text=${part.reasoning.text} /></details>`;
  return html`<${Value} value=${part.tool_call ?? part.tool_result ?? part} />`;
}

/** @param {{turn: Turn, timeline: Timeline}} props */
function Conversation({ turn, timeline }) {
  return html`<div class="chat">${(turn.input ?? []).map((m, i) => html`<${Message} key=${`in${i}`} role=${m.role} parts=${m.parts} />`)}<${Answer} timeline=${timeline} /></div>`;
}

/** @param {{role: string, parts?: import('../types.d.ts').Part[]}} props */
export const Message = ({ role, parts = [] }) => html`<article class=${`bubble ${role}`}><h3>${role}</h3>${parts.map((p, i) => html`<${PartView} key=${i} part=${p} />`)}</article>`;

/** How many parts of a long conversation are added at once. */
const MOST_PARTS = 200;

/** What the agent of a turn said and did lately, without its delegates. @param {{timeline: Timeline}} props */
export function Answer({ timeline }) {
  const [most, setMost] = useState(MOST_PARTS);
  const parts = timeline.rows.filter((r) => r.depth === 0 && ['text', 'tool', 'reasoning'].includes(r.kind));
  return html`${parts.length > most && html`<button type="button" class="link" onClick=${() => setMost(most + MOST_PARTS)}>Show earlier parts (${number(parts.length - most)})</button>`}
    ${parts.slice(-most).map((r) => html`<${Said} key=${r.seq} row=${r} />`)}`;
}

/** One thing that an agent said or did. @param {{row: Row}} props */
function Said({ row }) {
  if (row.kind === 'text') return html`<article class="bubble assistant"><h3>assistant</h3><${Markdown} text=${row.text?.join('') ?? ''} /></article>`;
  if (row.kind === 'reasoning') return html`<details class="call"><summary>Reasoning</summary><${Markdown} text=${row.text?.join('') ?? ''} /></details>`;
  return html`<details class="call"><summary><code>${row.title}</code> <${Status} value=${row.status ?? 'running'} /> <span class="muted small">${row.note ?? ''}</span></summary>
    <${Value} label="Arguments" value=${row.arguments} />${row.result !== undefined && html`<${Result} result=${row.result} />`}</details>`;
}

/** @param {{timeline: Timeline}} props */
function RawEvents({ timeline }) {
  const [chosen, setChosen] = useState(0);
  const event = timeline.events.find((e) => e.seq === chosen);
  return html`<div class="split"><${VirtualList} rows=${timeline.events} height=${28} label="Events" class="raw" render=${(/** @type {import('../types.d.ts').Event} */ e) => html`
    <button type="button" class="row" aria-pressed=${e.seq === chosen} onClick=${() => setChosen(e.seq)}><span class="num seq">${e.seq}</span><span class="what"><code>${e.event_type}</code> <span class="muted">${JSON.stringify(fieldsOf(e)).slice(0, 200)}</span></span></button>`} />
    ${event && html`<aside class="detail" aria-label="Event"><header><h3>${event.event_type}</h3><${Copy} text=${JSON.stringify(event)} /></header><${Value} value=${event} /></aside>`}</div>`;
}
