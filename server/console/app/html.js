// Binds templates to Preact. Everything a page shows passes through element(), which makes
// control characters visible and drops addresses that could run code.
import { h } from './vendor/preact.js';
import htm from './vendor/htm.js';

export { render } from './vendor/preact.js';
export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from './vendor/hooks.js';

// Terminal sequences are removed whole: texts for the terminal itself, then all others.
// oxlint-disable-next-line no-control-regex
const COMMANDS = /(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?/g;
// oxlint-disable-next-line no-control-regex
const SEQUENCES = /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|\u001b[ -/]*[0-~]/g;
// oxlint-disable-next-line no-control-regex
const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/;
const ALL_INVISIBLE = new RegExp(INVISIBLE, 'g');

/**
 * Returns text without terminal sequences, and with a name for each character that would
 * be invisible or change the order of others.
 * @param {string} text
 */
export function clean(text) {
  if (!INVISIBLE.test(text)) return text;
  return text.replace(/\r\n/g, '\n').replace(COMMANDS, '').replace(SEQUENCES, '')
    .replace(ALL_INVISIBLE, (c) => `⟨${(c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`);
}

const SAFE_URL = /^(?:#|\.\/|https?:\/\/|mailto:|blob:|data:image\/(?:png|jpeg|gif|webp);base64,)/i;

/**
 * Returns an address that a link or image may have, or undefined.
 * @param {unknown} url
 */
export function safeURL(url) {
  return typeof url === 'string' && SAFE_URL.test(url) && !INVISIBLE.test(url) ? url : undefined;
}

const DROPPED = new Set(['dangerouslySetInnerHTML', 'innerHTML', 'outerHTML', 'srcdoc', 'action', 'formAction', 'xlinkHref']);
const SHOWN = new Set(['title', 'aria-label', 'placeholder', 'alt', 'label']);

/** @param {any} child @returns {any} */
function cleanChild(child) {
  if (typeof child === 'string') return clean(child);
  return Array.isArray(child) ? child.map(cleanChild) : child;
}

/**
 * @param {any} type
 * @param {Record<string, any> | null} props
 * @param {...any} children
 */
function element(type, props, ...children) {
  if (typeof type === 'string' && props) {
    for (const name of Object.keys(props)) {
      const value = props[name];
      if (DROPPED.has(name)) delete props[name];
      else if (name === 'href' || name === 'src') props[name] = safeURL(value);
      else if (SHOWN.has(name) && typeof value === 'string') props[name] = clean(value);
    }
  }
  return h(type, props, ...children.map(cleanChild));
}

export const html = htm.bind(element);
