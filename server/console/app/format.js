// Texts for times, durations, numbers and values. Times are in the viewer's time zone.
const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' });
const NUMBER = new Intl.NumberFormat();
const COMPACT = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [['day', 86400], ['hour', 3600], ['minute', 60], ['second', 1]];

/** @param {string | number} time */
export const fullTime = (time) => DATE.format(new Date(time));

/** @param {string | number} time @param {number} [now] */
export function ago(time, now = Date.now()) {
  const seconds = (new Date(time).getTime() - now) / 1000;
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size || unit === 'second') return RELATIVE.format(Math.round(seconds / size), unit);
  }
  return '';
}

/** @param {number} ms */
export function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
  return `${Math.floor(ms / 3_600_000)} h ${Math.round((ms % 3_600_000) / 60_000)} min`;
}

/** @param {number} n */
export const number = (n) => NUMBER.format(n);

/** @param {number} n */
export const compact = (n) => COMPACT.format(n);

/** @param {import('./types.d.ts').Usage | undefined} usage */
export const tokens = (usage) => (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);

/** @param {{amount: number, currency: string} | undefined} cost */
export function money(cost) {
  if (!cost) return '';
  const digits = cost.amount !== 0 && Math.abs(cost.amount) < 0.01 ? 5 : 2;
  try {
    return new Intl.NumberFormat(undefined, { style: 'currency', currency: cost.currency, maximumFractionDigits: digits }).format(cost.amount);
  } catch {
    return `${cost.amount.toFixed(digits)} ${cost.currency}`;
  }
}

/** @param {unknown} value */
export function pretty(value) {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2) ?? '';
}

/** @param {unknown} value @param {number} [most] */
export function brief(value, most = 120) {
  const text = typeof value === 'string' ? value : JSON.stringify(value) ?? '';
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** Quotes a text for a shell. @param {string} text */
export const shellQuote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** @param {string} id */
export const shortID = (id) => (id.length > 13 ? `…${id.slice(-8)}` : id);

/** @param {number} n @param {string} one @param {string} [many] */
export const count = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

/** @param {number} part @param {number} all */
export const percent = (part, all) => (all ? `${(100 * part / all).toFixed(1)} %` : '');
