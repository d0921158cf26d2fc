// A chart of bars over time.
import { html } from './html.js';

const WIDTH = 960;
const HEIGHT = 160;
const GAP = 0.2;

const DAY = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
const HOUR = new Intl.DateTimeFormat(undefined, { weekday: 'short', hour: 'numeric' });

/** @param {{title: string, days: boolean, bars: {time: number, value: number, text: string}[]}} props */
export function Chart({ title, days, bars }) {
  const most = Math.max(...bars.map((b) => b.value), 0);
  const top = bars.find((b) => b.value === most);
  const when = (/** @type {number} */ time) => (days ? DAY : HOUR).format(time);
  const step = WIDTH / Math.max(1, bars.length);
  const label = most ? `${title} by ${days ? 'day' : 'hour'}: at most ${top?.text}, ${when(top?.time ?? 0)}` : `${title}: nothing`;
  return html`<figure class="chart"><div class="muted small">${most ? top?.text : '0'}</div>
    <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${label}>
      ${bars.map((b, i) => {
    const height = most ? (HEIGHT - 2) * b.value / most : 0;
    return html`<g key=${b.time}><title>${`${when(b.time)}: ${b.text}`}</title><rect class="hit" x=${i * step} y="0" width=${step} height=${HEIGHT} />
        <rect class="amount" x=${i * step + step * GAP / 2} y=${HEIGHT - height} width=${step * (1 - GAP)} height=${height} /></g>`;
  })}<line x1="0" x2=${WIDTH} y1=${HEIGHT - 0.5} y2=${HEIGHT - 0.5} class="axis" /></svg>
    <figcaption class="muted small"><span>${bars.length > 0 && when(bars[0].time)}</span><span>${bars.length > 0 && when(bars[bars.length - 1].time)}</span></figcaption></figure>`;
}
