import { signal } from '@preact/signals';

/** Where the reader is: path below `/dashboard/`, and the query. Both are in the URL, so that a link opens what one sees. */
export const place = signal(read());

addEventListener('popstate', () => (place.value = read()));
addEventListener('click', (event) => {
  const link = event.target.closest?.('a[href]');
  if (!link || event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
  if (!isOurs(link.pathname)) return;
  // To a part of this page: the browser goes there.
  if (link.hash && link.pathname === location.pathname) return;
  event.preventDefault();
  go(link.pathname + link.search + link.hash);
});

/** Opens a page of the dashboard: `/dashboard/streams?order=name-false`. `replace`: without a new entry in the history. */
export function go(url, { replace = false } = {}) {
  history[replace ? 'replaceState' : 'pushState'](null, '', url);
  const before = place.value.path;
  place.value = read();
  if (place.value.path !== before) scrollTo(0, 0);
}

/** The URL of this page with other values in its query; undefined and '' remove one. */
export function withQuery(changes) {
  const query = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  return location.pathname + (text && `?${text}`);
}

function isOurs(path) {
  return path === '/' || path === '/dashboard' || path.startsWith('/dashboard/');
}

function read() {
  const path = location.pathname.replace(/^\/(dashboard\/?)?/, '').replace(/\/$/, '');
  return { path, query: new URLSearchParams(location.search) };
}
