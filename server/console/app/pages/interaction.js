// What a turn waits for: what would happen, and the form that answers it.
import { can, get, post, turnPath } from '../api.js';
import { shellQuote } from '../format.js';
import { JSONField, SchemaForm, startValue } from '../form.js';
import { html, useState } from '../html.js';
import { Facts, Problem, Time, Value } from '../ui.js';

/** @typedef {import('../types.d.ts').Interaction} Interaction */

/** @param {string} turn @param {AbortSignal} [signal] */
export async function loadInteractions(turn, signal) {
  return /** @type {Interaction[]} */ ((await get(turnPath(turn, 'interactions'), signal)).interactions);
}

/** @param {Interaction} i */
export const isPending = (i) => i.state === 'pending';

/** @param {string} turn @param {string} id @param {Record<string, unknown>} answer */
function sendAnswer(turn, id, answer) {
  return post(turnPath(turn, `interactions/${encodeURIComponent(id)}`), answer);
}

/** Reports whether a request asks for consent. @param {Interaction['ticket']} t */
export const isApproval = (t) => t.response_schema?.properties?.approved?.type === 'boolean';

/** Gives or refuses consent. @param {Interaction} i @param {boolean} approved @param {Record<string, any>} [more] */
export function decide(i, approved, more = {}) {
  return sendAnswer(i.turn_id, i.id, { action: 'resume', result: { ...startValue(i.ticket.response_schema), ...more, approved } });
}

/** @param {unknown} v */
const isText = (v) => typeof v === 'string';

/** @param {unknown} v */
const isWords = (v) => Array.isArray(v) && v.every(isText);

/** @param {{line: string | string[]}} props */
const Command = ({ line: words }) => html`<h4>Command</h4><pre tabindex="0" aria-label="Command">$ ${isText(words) ? words : /** @type {string[]} */ (words).map(quote).join(' ')}</pre>`;

/** Shows what a call would do. @param {{args: any}} props */
function Effect({ args }) {
  if (!args || typeof args !== 'object' || Array.isArray(args)) return html`<${Value} label="Arguments" value=${args} />`;
  const rest = { ...args };
  /** Takes arguments that are shown in their own form; the others are listed. @param {...string} names */
  const take = (...names) => names.map((name) => {
    const value = rest[name];
    delete rest[name];
    return value;
  });
  const parts = [];
  if (isText(rest.path) && isText(rest.old) && isText(rest.new)) {
    const [path, before, after] = take('path', 'old', 'new');
    parts.push(html`<${Diff} path=${path} before=${before} after=${after} />`);
  } else if (isText(rest.path) && isText(rest.content)) {
    const [path, content] = take('path', 'content');
    parts.push(html`<${Diff} path=${path} before="" after=${content} />`);
  }
  if (isText(rest.program) && (rest.args === undefined || isWords(rest.args))) {
    const [program, words = []] = take('program', 'args');
    parts.push(html`<${Command} line=${[program, ...words]} />`);
  }
  if (isText(rest.command) || isWords(rest.command)) parts.push(html`<${Command} line=${take('command')[0]} />`);
  if (isText(rest.url) && (rest.method === undefined || isText(rest.method))) {
    const [url, method = 'GET'] = take('url', 'method');
    parts.push(html`<h4>Request</h4><pre tabindex="0" aria-label="Request">${method} ${url}</pre>`);
  }
  const simple = Object.entries(rest).every(([, v]) => v === null || typeof v !== 'object' && String(v).length < 80);
  if (Object.keys(rest).length) parts.push(simple && !parts.length ? html`<h4>Arguments</h4><${Facts} items=${Object.entries(rest).map(([k, v]) => [k, html`<code>${String(v)}</code>`])} />` : html`<${Value} label="Arguments" value=${rest} />`);
  return html`<div class="effect">${parts.length ? parts : html`<p class="muted">The call has no arguments.</p>`}</div>`;
}

/** @param {string} word */
const quote = (word) => (/^[\w./:=@%+,-]+$/.test(word) ? word : shellQuote(String(word)));

/** @param {string} sign @param {string} text */
const line = (sign, text) => html`<span class=${`diff ${sign === '+' ? 'add' : sign === '-' ? 'del' : ''}`}>${`${sign} ${text}\n`}</span>`;

/** @param {{path: string, before: string, after: string}} props */
function Diff({ path, before, after }) {
  const old = before ? before.split('\n') : [];
  const fresh = after.split('\n');
  let head = 0;
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head++;
  let tail = 0;
  while (tail < old.length - head && tail < fresh.length - head && old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]) tail++;
  return html`<h4>Edit of <code>${path}</code></h4><pre tabindex="0" aria-label=${`Edit of ${path}`}>${old.slice(0, head).map((l) => line(' ', l))}
    ${old.slice(head, old.length - tail).map((l) => line('-', l))}${fresh.slice(head, fresh.length - tail).map((l) => line('+', l))}${old.slice(old.length - tail).map((l) => line(' ', l))}</pre>`;
}

/** @param {{item: Interaction, onDone?: () => void, compact?: boolean}} props */
export function InteractionCard({ item, onDone, compact }) {
  const t = item.ticket;
  const approval = isApproval(t);
  const [value, setValue] = useState(/** @type {any} */ (startValue(t.response_schema)));
  const [args, setArgs] = useState(/** @type {any} */ (undefined));
  const [editing, setEditing] = useState(false);
  const [error, setError] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState(false);
  const send = async (/** @type {() => Promise<unknown>} */ act) => {
    setBusy(true);
    setError(null);
    try {
      await act();
      onDone?.();
    } catch (e) {
      setError(e);
    }
    setBusy(false);
  };
  const changed = args === undefined ? {} : { arguments: args };
  const answer = (/** @type {any} */ result) => send(() => sendAnswer(item.turn_id, item.id, { action: 'resume', result, ...changed }));
  const refuse = () => send(() => sendAnswer(item.turn_id, item.id, { action: 'cancel', reason: value.reason }));
  const mayAnswer = can('runs:write') && isPending(item);
  return html`<section class="interaction" aria-label=${`Request ${t.tool}`}>
    <h3>${t.message || t.action || `Call of ${t.tool}`}</h3>
    ${!compact && html`<${Facts} items=${[['Tool', html`<code>${t.tool}</code>`], ['Asked', html`<${Time} at=${item.created_at} />`], ['Deadline', item.expires_at && html`<${Time} at=${item.expires_at} />`], ['Rule', t.parameters?.rule]]} />`}
    <${Effect} args=${t.arguments} />
    ${mayAnswer && html`<form onSubmit=${(/** @type {any} */ e) => { e.preventDefault(); answer(approval ? { ...value, approved: true } : value); }}>
      ${editing && html`<${JSONField} id=${`${item.id}-arguments`} label="Arguments of the call" value=${t.arguments} onChange=${setArgs} rows="6" />`}
      <${SchemaForm} id=${item.id} schema=${t.response_schema} value=${value} onChange=${setValue} hidden=${approval ? ['approved'] : []} />
      <${Problem} error=${error} />
      <div class="actions">
        <button type="submit" class="primary" disabled=${busy}>${approval ? 'Approve' : 'Answer'}</button>
        <button type="button" class="danger" disabled=${busy} onClick=${approval ? () => answer({ ...value, approved: false }) : refuse}>${approval ? 'Reject' : 'Refuse'}</button>
        ${!editing && t.resume_mode !== 'use_decision_as_tool_result' && html`<button type="button" onClick=${() => setEditing(true)}>Edit the arguments</button>`}
      </div></form>`}
    ${!isPending(item) && html`<p class="muted">${item.state}${item.resolved_by ? ` by ${item.resolved_by}` : ''}</p><${Value} label="Answer" value=${item.resolution} />`}</section>`;
}
