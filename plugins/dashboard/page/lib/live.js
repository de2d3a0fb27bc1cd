import { call, callWhole, key } from './api.js';
import { useLoad } from './load.js';

/** What comes with plugins that may be off is 404 then: asked once in a tab, since a browser notes each as an error. */
const missing = new Set();
// Another key may have more.
key.subscribe(() => missing.clear());

/** A GET whose route may not be there, or not for this key: undefined then. `route` names it, ids left out. */
export async function callIfThere(route, path, options) {
  return (await wholeIfThere(route, path, options)).body;
}

/** As `callWhole`; `{}` when the route is not there. */
export async function wholeIfThere(route, path, options) {
  if (missing.has(route)) return {};
  try {
    return await callWhole('GET', path, options);
  } catch (error) {
    if (error?.status !== 404 && error?.status !== 403) throw error;
    if (error.code === 'route.not_found' || error.status === 403) missing.add(route);
    return {};
  }
}

/** A stream and its health, as new as `every` ms. `{stream, points, error, cause, reload}`. */
export function useStream(id, { every = 1000 } = {}) {
  const loaded = useLoad(
    async () => {
      if (!id) return undefined;
      const [stream, points] = await Promise.all([
        call('GET', `/api/stream/${id}`),
        callIfThere('health', `/api/stream/${id}/health`),
      ]);
      return { stream, points: points ?? [] };
    },
    { deps: [id], every, on: (event) => event.stream?.id === id || event.stream?.parentId === id },
  );
  const { data, error, cause, reload } = loaded;
  return { stream: data?.stream, points: data?.points ?? [], error: id ? error : undefined, cause, reload };
}

/** Under this name the server counts the pictures of this tab as one viewer, after a reload too. */
export const viewerId =
  sessionStorage.getItem('millrace.viewer') ?? crypto.getRandomValues(new Uint32Array(4)).join('-');
sessionStorage.setItem('millrace.viewer', viewerId);

/** What is wrong with it now: of the stream, and of the newest point while it is not playable yet. */
export function issuesOf(stream, points) {
  if (stream.isActive) return stream.issues;
  return [...new Set([...stream.issues, ...(points.at(-1)?.issues ?? [])])];
}
