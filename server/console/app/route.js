// Addresses of pages: everything after the # names a page, what it shows and its filters.
/** @typedef {import('./types.d.ts').Route} Route */

/** @returns {Route} */
export function currentRoute() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const parts = path.split('/').filter(Boolean).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { parts, query: new URLSearchParams(query ?? '') };
}

/**
 * Returns the address of a page.
 * @param {string[]} parts
 * @param {Record<string, string | undefined>} [query]
 */
export function link(parts, query = {}) {
  const set = Object.entries(query).filter(([, value]) => value);
  const search = new URLSearchParams(/** @type {[string, string][]} */ (set)).toString();
  return `#/${parts.map(encodeURIComponent).join('/')}${search ? `?${search}` : ''}`;
}

/**
 * Changes the filters of the page that is shown, without a new entry in the history.
 * @param {Record<string, string | undefined>} query
 */
export function setQuery(query) {
  const at = currentRoute();
  const all = { ...Object.fromEntries(at.query), ...query };
  history.replaceState(null, '', link(at.parts, all));
  dispatchEvent(new HashChangeEvent('hashchange'));
}
