// Renders the Markdown that models write, as elements. HTML in it stays text, images become
// links, and links lead to http, https and mailto addresses only.
import { clean, html, safeURL } from './html.js';

const INLINE = /(`+)([\s\S]*?[^`])\1(?!`)|\*\*([^*]+)\*\*|__([^_]+)__|\*([^*\s][^*]*)\*|!?\[([^\]]*)\]\(([^)\s]+)[^)]*\)|(https?:\/\/[^\s<>"')\]]+)/g;

/** @param {string} text @returns {any[]} */
function inline(text) {
  const out = [];
  let at = 0;
  for (const m of text.matchAll(INLINE)) {
    if (m.index > at) out.push(text.slice(at, m.index));
    at = m.index + m[0].length;
    if (m[2] !== undefined) out.push(html`<code>${m[2]}</code>`);
    else if (m[3] ?? m[4]) out.push(html`<strong>${m[3] ?? m[4]}</strong>`);
    else if (m[5]) out.push(html`<em>${m[5]}</em>`);
    else {
      const url = m[7] ?? m[8];
      const outside = /^(https?:|mailto:)/i.test(url) && safeURL(url);
      out.push(outside ? html`<a href=${url} rel="noopener noreferrer nofollow" target="_blank" title=${url}>${m[6] || url}</a>` : m[0]);
    }
  }
  out.push(text.slice(at));
  return out;
}

/** @param {string[]} lines @param {number} start @param {RegExp} item */
function list(lines, start, item) {
  const items = [];
  let i = start;
  for (; i < lines.length && item.test(lines[i]); i++) items.push(html`<li>${inline(lines[i].replace(item, ''))}</li>`);
  return { items, next: i };
}

/** @param {string} line */
const cells = (line) => line.trim().replace(/^\||\|$/g, '').split('|').map((cell) => inline(cell.trim()));

const BULLET = /^\s*[-*+]\s+/;
const ORDERED = /^\s*\d+[.)]\s+/;
const RULE = /^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$/;

/** @param {{text: string}} props */
export function Markdown({ text }) {
  const lines = clean(text).split('\n');
  const out = [];
  for (let i = 0; i < lines.length;) {
    const line = lines[i];
    const fence = line.match(/^\s*(```+|~~~+)\s*(\S*)/);
    const heading = line.match(/^(#{1,6})\s+(.*)/);
    if (fence) {
      const end = lines.findIndex((l, n) => n > i && l.trim().startsWith(fence[1]));
      const stop = end < 0 ? lines.length : end;
      out.push(html`<pre tabindex="0" aria-label=${`Code ${fence[2]}`}><code>${lines.slice(i + 1, stop).join('\n')}</code></pre>`);
      i = stop + 1;
    } else if (heading) {
      out.push(html`<p class=${`heading h${heading[1].length}`}>${inline(heading[2])}</p>`);
      i++;
    } else if (BULLET.test(line) || ORDERED.test(line)) {
      const ordered = !BULLET.test(line);
      const { items, next } = list(lines, i, ordered ? ORDERED : BULLET);
      out.push(ordered ? html`<ol>${items}</ol>` : html`<ul>${items}</ul>`);
      i = next;
    } else if (line.includes('|') && RULE.test(lines[i + 1] ?? '')) {
      const head = cells(line);
      const body = [];
      for (i += 2; i < lines.length && lines[i].includes('|'); i++) body.push(html`<tr>${cells(lines[i]).map((c) => html`<td>${c}</td>`)}</tr>`);
      out.push(html`<table><thead><tr>${head.map((c) => html`<th>${c}</th>`)}</tr></thead><tbody>${body}</tbody></table>`);
    } else if (/^\s*>/.test(line)) {
      const quoted = [];
      for (; i < lines.length && /^\s*>/.test(lines[i]); i++) quoted.push(lines[i].replace(/^\s*>\s?/, ''));
      out.push(html`<blockquote><${Markdown} text=${quoted.join('\n')} /></blockquote>`);
    } else if (!line.trim()) {
      i++;
    } else {
      const paragraph = [];
      for (; i < lines.length && lines[i].trim() && !/^\s*(```|~~~|#{1,6}\s|>)/.test(lines[i]) && !(paragraph.length && BULLET.test(lines[i])); i++) paragraph.push(lines[i]);
      out.push(html`<p>${inline(paragraph.join('\n'))}</p>`);
    }
  }
  return html`<div class="markdown">${out}</div>`;
}
