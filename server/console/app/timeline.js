// Turns the events of a turn into the rows of its timeline.
/** @typedef {import('./types.d.ts').Event} Event */
/** @typedef {import('./types.d.ts').Row} Row */
import { brief } from './format.js';

/** Fields of events that are named in the row itself. */
const PLAIN = new Set(['seq', 'time', 'event_type', 'turn_id', 'session_id', 'path', 'message_id']);

/** What an event says beside its kind. @param {Event} e */
export function fieldsOf(e) {
  return Object.fromEntries(Object.entries(e).filter(([name]) => !PLAIN.has(name)));
}

export class Timeline {
  constructor() {
    /** @type {Row[]} */
    this.rows = [];
    /** @type {Event[]} */
    this.events = [];
    /** @type {Map<string, Row>} */
    this.open = new Map();
    this.begin = 0;
    this.last = 0;
  }

  /** @param {Event[]} events */
  add(events) {
    for (const e of events) {
      this.events.push(e);
      this.last = Date.parse(e.time);
      this.begin ||= this.last;
      this.fold(e, (e.path ?? []).join('/'), this.last);
    }
  }

  /** @param {Event} e @param {string} kind @param {string} title @param {Partial<Row>} [more] @returns {Row} */
  row(e, kind, title, more = {}) {
    const row = { seq: e.seq, time: this.last, depth: e.path?.length ?? 0, kind, title, event: e, ...more };
    this.rows.push(row);
    return row;
  }

  /** Adds text to the row that is being written. @param {Event} e @param {string} at @param {string} kind @param {string} title */
  text(e, at, kind, title) {
    let row = this.open.get(`${kind} ${at}`);
    if (!row) {
      row = this.row(e, kind, title, { text: [] });
      this.open.set(`${kind} ${at}`, row);
    }
    row.text?.push(e.delta);
    row.end = this.last;
  }

  /** @param {string} at */
  closeTexts(at) {
    this.open.delete(`text ${at}`);
    this.open.delete(`reasoning ${at}`);
  }

  /** @param {Event} e @param {string} at */
  call(e, at) {
    const key = `call ${at} ${e.id}`;
    let row = this.open.get(key);
    if (!row) {
      row = this.row(e, 'tool', e.name ?? e.tool ?? e.id, { status: 'running', callID: e.id });
      this.open.set(key, row);
    }
    return row;
  }

  /** @param {Event} e @param {string} at @param {number} now */
  fold(e, at, now) {
    switch (e.event_type) {
      case 'run_start':
        this.closeTexts(at);
        this.row(e, 'run', e.resumed ? `${e.agent_id} continues` : e.agent_id ?? 'run');
        break;
      case 'step_start':
        this.closeTexts(at);
        this.open.set(`step ${at}`, this.row(e, 'step', `Step ${e.step}`));
        break;
      case 'step_end': {
        const step = this.open.get(`step ${at}`);
        if (step) step.end = now;
        break;
      }
      case 'text_delta':
        this.text(e, at, 'text', 'Answer');
        break;
      case 'reasoning_delta':
        this.text(e, at, 'reasoning', 'Reasoning');
        break;
      case 'inference_complete': {
        this.closeTexts(at);
        const ms = e.duration_ms ?? 0;
        this.row(e, 'model', e.model_id ?? e.model ?? 'model', { time: now - ms, end: now, usage: e.usage, note: e.finish_reason });
        break;
      }
      case 'stream_reset':
        this.closeTexts(at);
        this.row(e, 'notice', 'The answer was taken back', { note: e.reason });
        break;
      case 'tool_call_start':
      case 'tool_call_delta':
        this.call(e, at);
        break;
      case 'tool_call_ready':
        this.call(e, at).arguments = e.arguments;
        break;
      case 'tool_call_cancel':
        Object.assign(this.call(e, at), { status: 'canceled', end: now, note: e.reason });
        break;
      case 'tool_call_stream_delta': {
        const row = this.call(e, at);
        (row.output ??= []).push(typeof e.delta === 'string' ? e.delta : JSON.stringify(e.delta));
        break;
      }
      case 'tool_call_done':
        Object.assign(this.call(e, at), { status: e.outcome, end: now, result: e.result });
        break;
      case 'activity_snapshot': {
        const row = this.open.get(`call ${at} ${e.message_id}`);
        if (row) Object.assign(row, { usage: e.content?.usage, cost: e.content?.cost, note: brief(e.content?.detail ?? e.content?.state ?? '') });
        break;
      }
      case 'interaction_requested': {
        const row = this.row(e, 'wait', e.message ?? e.action ?? 'Waits for an answer', { status: 'waiting', request: /** @type {any} */ (e), callID: e.call_id });
        this.open.set(`wait ${at} ${e.id}`, row);
        break;
      }
      case 'tool_call_resumed': {
        const row = this.open.get(`wait ${at} ${e.target_id}`) ?? this.open.get(`wait ${at} ${this.waitOf(e.target_id)}`);
        if (row) Object.assign(row, { status: e.action === 'cancel' ? 'refused' : 'answered', end: now, result: e.result });
        break;
      }
      case 'run_waiting':
        break;
      case 'run_finish':
        this.closeTexts(at);
        this.row(e, 'end', e.status === 'succeeded' ? 'Finished' : 'Ended', { status: e.status, usage: e.usage, cost: e.cost, note: e.termination?.detail ?? e.termination?.type });
        break;
      default:
        this.row(e, 'notice', e.event_type.replaceAll('_', ' '), { note: brief(fieldsOf(e)) });
    }
  }

  /** Returns the request that asks about a call. @param {string} call */
  waitOf(call) {
    return this.rows.findLast((row) => row.kind === 'wait' && row.callID === call)?.request?.id ?? '';
  }
}
