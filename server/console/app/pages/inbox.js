// Everything that waits for a person, with what would happen.
import { can, get, withQuery } from '../api.js';
import { brief, count } from '../format.js';
import { html, useEffect, useLayoutEffect, useState } from '../html.js';
import { link } from '../route.js';
import { Empty, Loaded, Page, Problem, Time, useLoad } from '../ui.js';
import { InteractionCard, decide, isApproval } from './interaction.js';

/** @typedef {import('../types.d.ts').Interaction} Interaction */
/** @typedef {Interaction & {agent: string, key: string}} Item */

const LIVE_MS = 2000;

const MOST = 200;

/** @param {AbortSignal} signal @returns {Promise<Item[]>} */
async function loadInbox(signal) {
  const { interactions } = await get(withQuery('runtime/v1/interactions', { limit: MOST }), signal);
  return interactions.map((/** @type {Interaction} */ i) => ({ ...i, agent: i.agent_id ?? '', key: `${i.turn_id} ${i.id}` }));
}

export function InboxPage() {
  const load = useLoad(loadInbox, [], LIVE_MS);
  const items = load.data ?? [];
  const [chosen, setChosen] = useState('');
  const [marked, setMarked] = useState(/** @type {Set<string>} */ (new Set()));
  const [error, setError] = useState(/** @type {any} */ (null));
  // Another request never takes the place of the chosen one by itself: a key would answer it unread.
  const shown = chosen || items[0]?.key;
  const at = items.findIndex((i) => i.key === shown);
  const item = items[at];
  useEffect(() => {
    if (shown) setChosen(shown);
  }, [load.data]);
  /** Moves on from requests that have been answered. @param {Item[]} list */
  const leave = (list) => {
    const left = new Set(list.map((i) => i.key));
    if (shown && left.has(shown)) setChosen((items.find((i, n) => n > at && !left.has(i.key)) ?? items.findLast((i) => !left.has(i.key)))?.key ?? '');
    load.reload();
  };
  const writes = can('runs:write');
  const toggle = (/** @type {string} */ key) => setMarked((old) => {
    const next = new Set(old);
    if (!next.delete(key)) next.add(key);
    return next;
  });
  const decideAll = async (/** @type {Item[]} */ list, /** @type {boolean} */ approved) => {
    setError(null);
    const done = await Promise.allSettled(list.map((i) => decide(i, approved)));
    const failed = done.find((d) => d.status === 'rejected');
    if (failed) setError(/** @type {PromiseRejectedResult} */ (failed).reason);
    setMarked(new Set());
    leave(list.filter((_, n) => done[n].status === 'fulfilled'));
  };
  // Before the browser paints, so that a key acts on the request that is shown.
  useLayoutEffect(() => {
    const press = (/** @type {KeyboardEvent} */ e) => {
      const target = /** @type {HTMLElement} */ (e.target);
      if (e.ctrlKey || e.metaKey || e.altKey || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName) || !items.length) return;
      const step = { j: 1, k: -1 }[e.key];
      if (step) setChosen(items[Math.min(items.length - 1, Math.max(0, at + step))].key);
      else if (!item || !writes || e.repeat || !isApproval(item.ticket)) return;
      else if (e.key === 'x') toggle(item.key);
      // The form has the arguments and the reason that were entered.
      else if (e.key === 'a') /** @type {HTMLFormElement | null} */ (document.querySelector('.inbox form'))?.requestSubmit();
      else if (e.key === 'r') /** @type {HTMLButtonElement | null} */ (document.querySelector('.inbox form .danger'))?.click();
      else return;
      e.preventDefault();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  });
  const several = items.filter((i) => marked.has(i.key));
  const approvals = items.filter((i) => isApproval(i.ticket));
  return html`<${Page} title="Inbox" sub=${load.data && (items.length ? `${count(items.length, 'request')} ${items.length === 1 ? 'waits' : 'wait'} for a person.` : '')}>
    <${Problem} error=${error} />
    <${Loaded} load=${load}>${() => (items.length === 0 ? html`<${Empty} title="Nothing waits for you.">Requests appear here when an agent needs approval or an answer.</${Empty}>`
    : html`${writes && approvals.length > 1 && html`<p><button type="button" class="link" onClick=${() => setMarked(new Set(several.length < approvals.length ? approvals.map((i) => i.key) : []))}>${several.length < approvals.length ? `Select all ${approvals.length} approvals` : 'Select none'}</button></p>`}
      ${items.length === MOST && html`<p class="muted">These are the ${MOST} oldest. More appear when they are answered.</p>`}
      ${writes && several.length > 0 && html`<div class="toolbar sticky" role="status"><strong>${count(several.length, 'request')} selected</strong>
        <button type="button" class="primary" onClick=${() => decideAll(several, true)}>Approve all</button><button type="button" class="danger" onClick=${() => decideAll(several, false)}>Reject all</button></div>`}
      <div class="split inbox"><ul class="cards" aria-label="Waiting requests">${items.map((i) => html`<li key=${i.key} class=${i === item ? 'card current' : 'card'}>
        ${writes && isApproval(i.ticket) && html`<input type="checkbox" aria-label=${`Select ${i.ticket.tool} of ${i.agent}`} checked=${marked.has(i.key)} onChange=${() => toggle(i.key)} />`}
        <button type="button" class="pick" aria-current=${i === item ? 'true' : undefined} onClick=${() => setChosen(i.key)}><strong>${i.ticket.tool}</strong> <span class="muted">${i.agent}</span>
          <span class="small clip">${brief(i.ticket.arguments ?? i.ticket.message)}</span><span class="muted small"><${Time} at=${i.created_at} />${i.expires_at && html` · until <${Time} at=${i.expires_at} />`}</span></button></li>`)}</ul>
      ${item && html`<div class="card"><${InteractionCard} key=${item.key} item=${item} onDone=${() => leave([item])} />
        <p><a href=${link(['turns', item.turn_id])}>Open the turn</a></p></div>`}
        ${!item && chosen && html`<div class="card" role="status"><${Empty} title="This request does not wait any more.">It was answered, or its turn has ended. Choose another one.</${Empty}></div>`}</div>
      ${writes && html`<p class="muted small">Keys: <kbd>j</kbd> <kbd>k</kbd> move, <kbd>a</kbd> approve, <kbd>r</kbd> reject, <kbd>x</kbd> select.</p>`}`)}</${Loaded}></${Page}>`;
}
