/**
 * A URL of the API as this page can load it: nodes serve all paths, and the page loads nothing from another host. `publicUrl` may be
 * another address of the same server.
 */
export function localUrl(url) {
  if (!url) return undefined;
  const { pathname, search } = new URL(url, location.origin);
  return pathname + search;
}
