// The requests of a model call as they were sent, or what is known of them if the server does not store them.
import { can, get } from '../api.js';
import { fullTime, number, pretty } from '../format.js';
import { html, useState } from '../html.js';
import { link } from '../route.js';
import { Facts, Loaded, Value, useLoad } from '../ui.js';

/** @typedef {import('../types.d.ts').Row} Row */
/** @typedef {import('../types.d.ts').Turn} Turn */
/** @typedef {import('../timeline.js').Timeline} Timeline */

/** How many parts of the turn are shown. */
const MOST = 50;

/** @param {Row} row */
const pathOf = (row) => (row.event?.path ?? []).join('/');

/** Returns what the agent of a model call did in the turn before the call. @param {Timeline} timeline @param {Row} row */
function rowsBefore(timeline, row) {
  const own = timeline.rows.filter((r) => r.seq < row.seq && pathOf(r) === pathOf(row));
  const step = own.findLast((r) => r.kind === 'step');
  const agent = own.findLast((r) => r.kind === 'run' && r.event?.agent_id)?.event?.agent_id;
  return { agent, step, before: own.filter((r) => ['text', 'tool', 'wait'].includes(r.kind) && r.seq < (step?.seq ?? 0)) };
}

/** @param {{turn: Turn, timeline: Timeline, row: Row}} props */
export function ModelRequest({ turn, timeline, row }) {
  const [open, setOpen] = useState(false);
  return html`<details onToggle=${(/** @type {any} */ e) => setOpen(e.target.open)}><summary>Request</summary>${open && html`<${Sent} turn=${turn} timeline=${timeline} row=${row} />`}</details>`;
}

/** Returns a part of a message as it is shown. @param {any} part */
const shownPart = (part) => part.text ?? part.reasoning?.text ?? (part.tool_call && `${part.tool_call.name} ${pretty(part.tool_call.arguments)}`)
  ?? part.tool_result?.content?.map(shownPart).join('\n') ?? `[${part.blob?.media_type ?? part.type}]`;

/** @param {{turn: Turn, timeline: Timeline, row: Row}} props */
function Sent({ turn, timeline, row }) {
  const message = rowsBefore(timeline, row).step?.event?.message_id;
  const asks = can('config:read') && can('runs:read') && Boolean(message);
  const load = useLoad(async (signal) => {
    if (!asks) return [];
    return (await get(`runtime/v1/turns/${encodeURIComponent(turn.id)}/model-requests/${encodeURIComponent(message)}`, signal)).requests;
  }, [turn.id, message, asks]);
  return html`<${Loaded} load=${load}>${() => (load.data?.length ? load.data.map(shownRequest) : html`<${Known} turn=${turn} timeline=${timeline} row=${row} />`)}</${Loaded}>`;
}

/** Shows a stored request. @param {any} sent @param {number} n */
function shownRequest(sent, n) {
  const { model, messages, tools = [], ...rest } = sent.request;
  return html`<section key=${n}><${Facts} items=${[['Sent', fullTime(sent.sent_at)], ['Agent', sent.agent_id], ['Model', model]]} />
    ${messages.map((/** @type {any} */ m, /** @type {number} */ i) => html`<${Value} key=${i} label=${m.role} value=${m.parts.map(shownPart).join('\n')} />`)}
    ${tools.length > 0 && html`<${Value} label=${`Tools (${number(tools.length)})`} value=${tools} />`}
    ${Object.keys(rest).length > 0 && html`<${Value} label="Parameters" value=${rest} />`}</section>`;
}

/** @param {{turn: Turn, timeline: Timeline, row: Row}} props */
function Known({ turn, timeline, row }) {
  const { agent, step, before } = rowsBefore(timeline, row);
  const whole = can('config:read') && Boolean(agent);
  const load = useLoad(async (signal) => {
    if (!whole) return null;
    const path = `runtime/v1/agents/${encodeURIComponent(agent)}`;
    const [entry, explained] = await Promise.all([get(path, signal), get(`${path}/explain`, signal)]);
    return { prompt: entry.value?.system_prompt, tools: explained.explanation.offered_tools };
  }, [agent, whole]);
  return html`<p class="muted small">The server stored no request for this call: it does with <code>turns.keep_requests</code>. This shows the messages of this turn, and the agent as it is configured now. Spans contain whole requests if the server captures content.</p>
    <${Facts} items=${[['Step', step?.title], ['Agent', agent], ['Model', row.event?.model_id], ['Sent to', row.event?.provider], ['Answered by', row.event?.model]]} />
    ${whole ? html`<${Loaded} load=${load}>${() => html`${load.data?.prompt && html`<${Value} label="System prompt, as configured now" value=${load.data.prompt} />`}
      <h4>Tools, as offered now</h4><p>${load.data?.tools?.length ? load.data.tools.map((/** @type {string} */ t) => html`<span class="chip" key=${t}>${t}</span>`) : 'none'}</p>`}</${Loaded}>`
    : html`<p class="muted small">The system prompt and tools are shown to keys with the scope <code>config:read</code>.</p>`}
    ${row.depth === 0 && can('sessions:read') && html`<p><a href=${link(['sessions', turn.session_id])}>The conversation before this turn</a></p>`}
    ${row.depth === 0 && (turn.input ?? []).map((m, i) => html`<${Value} key=${`in${i}`} label=${m.role} value=${m.parts.map(shownPart).join('\n')} />`)}
    ${before.length > MOST && html`<p class="muted">${number(before.length - MOST)} earlier answers and calls are left out.</p>`}
    ${before.slice(-MOST).map((r) => (r.kind === 'text' ? html`<${Value} key=${r.seq} label="assistant" value=${r.text?.join('') ?? ''} />`
    : html`<${Value} key=${r.seq} label=${`${r.title}: call and result`} value=${`${pretty(r.arguments ?? r.request?.arguments)}\n\n${pretty(r.result)}`} />`))}`;
}
