/**
 * What the server says of an id, as `{ is, message }`:
 * `stream` (with `source`, the path of its playlist), `film` (with `sources`), `absent`, or `unreachable`.
 * `recording` is the id of what a stream showed last; `isOn`: false where it is known that no picture of it comes now.
 */
export async function lookUp(id, { token = '' } = {}) {
  try {
    const answer = await fetch(`/api/playback/${encodeURIComponent(id)}`, {
      ...withToken(token).fetch,
      cache: 'no-store',
      signal: AbortSignal.timeout(15_000),
    });
    const body = await answer.json();
    if (answer.ok)
      return body.type === 'live' ? streamOf(body.meta) : { is: 'film', sources: body.meta.source };
    if (ABSENT[body.code]) return { is: 'absent', message: ABSENT[body.code], isOn: false };
    // Without the plugin that answers this, every id may be that of a stream.
    if (body.code === 'route.not_found') return { is: 'stream', message: UPCOMING };
    return { is: 'unreachable', message: NO_ANSWER };
  } catch {
    return { is: 'unreachable', message: NO_ANSWER };
  }
}

/** The id at the end of the path of a page; as it stands there where it is no UTF-8. */
export function idOf(path) {
  const last = path.replace(/\/+$/, '').split('/').pop() ?? '';
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

/** The HTTP status of a playlist; 0 when there is no answer. */
export async function statusOf(path, { token }) {
  try {
    const response = await fetch(path, {
      ...withToken(token).fetch,
      cache: 'no-store',
      signal: AbortSignal.timeout(15_000),
    });
    await response.body?.cancel();
    return response.status;
  } catch {
    return 0;
  }
}

/** The path of a URL of this server, by whatever address the page was reached. */
export function pathOf(url) {
  const { pathname, search } = new URL(url, location.href);
  return pathname + search;
}

/** What sends the viewer's token, for plugins that decide who may watch, with each request. */
export function withToken(token) {
  if (!token) return { fetch: {}, hls: {}, url: (path) => path };
  const authorization = `Bearer ${token}`;
  return {
    fetch: { headers: { authorization } },
    hls: { xhrSetup: (request) => request.setRequestHeader('authorization', authorization) },
    url: (path) => `${path}${path.includes('?') ? '&' : '?'}token=${encodeURIComponent(token)}`,
  };
}

function streamOf({ phase, recording, source }) {
  const isOn = phase === 'live' || phase === 'interrupted';
  const found = { is: 'stream', message: MESSAGES[phase], source: pathOf(source[0].url), isOn };
  if (recording?.status === 'waiting')
    found.message = 'The broadcast is over. Its recording is being prepared …';
  if (recording?.status === 'ready') found.recording = recording.id;
  return found;
}

const NO_ANSWER = 'The server does not answer. Trying again …';
const UPCOMING = 'Not on the air yet. This page starts by itself.';
export const INTERRUPTED = "The broadcaster's connection dropped. Waiting …";
const MESSAGES = {
  upcoming: UPCOMING,
  live: 'The broadcast is starting …',
  interrupted: INTERRUPTED,
  over: 'The broadcast is over.',
};
const ABSENT = {
  'playback.not_found': 'There is no video at this address. Check the link.',
  'playback.not_ready': 'This video is not ready yet. This page starts by itself.',
  'playback.failed': 'This video could not be prepared.',
  'playback.refused': 'You may not play this video.',
};
