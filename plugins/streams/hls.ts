import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../core/fault.ts';
import { faultResponse, says } from '../../core/http.ts';
import { corsLimits } from '../../core/limits.ts';
import type { ViewerRequest } from '../../core/ports/media.ts';
import { documentOf } from './document.ts';
import type { StreamsKit } from './kit.ts';
import { streamLimits } from './limits.ts';

const longestWait = streamLimits.returnWait.value;

/** `/hls/{playbackId}/…`: playlists, parts and segments, for everyone. */
export function hlsRoutes(kit: StreamsKit): AnyElysia {
  let waiting = 0;

  const answer = async (viewer: ViewerRequest): Promise<Response> => {
    const served = kit.media.serve(viewer);
    if (served) return served;
    if (waiting >= kit.config.maxWaitingViewers || !(await isExpected(viewer))) throw notOn();
    waiting += 1;
    try {
      const { signal } = viewer;
      await kit.media.appears(viewer.playbackId, { timeout: longestWait, signal });
    } finally {
      waiting -= 1;
    }
    return kit.media.serve(viewer) ?? Promise.reject(notOn());
  };

  /** A playlist of a stream that is on the air by the book while this process has nothing of it yet. */
  const isExpected = async ({ file, playbackId }: ViewerRequest): Promise<boolean> => {
    if (!file.endsWith('.m3u8') || !/^[0-9a-z]{16}$/.test(playbackId)) return false;
    const row = await kit.resources.find('stream', 'playbackId', playbackId);
    return row !== undefined && documentOf(row).isActive;
  };

  return new Elysia()
    .get(
      '/hls/:playbackId/*',
      ({ params, request }) => {
        const file = params['*'];
        const query = new URL(request.url).searchParams;
        return answer({ playbackId: params.playbackId, file, query, signal: request.signal }).catch(withCors);
      },
      says('Live playback for everyone: `index.m3u8` is the playlist to open.'),
    )
    .options('/hls/*', () => new Response(null, { status: 204, headers: preflight }));
}

const preflight = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, HEAD, OPTIONS',
  'access-control-allow-headers': 'Range',
  'access-control-max-age': String(corsLimits.publicMaxAge.value),
};

function notOn(): Fault {
  return new Fault('playback.not_live', {
    status: 404,
    message: 'Nothing is being broadcast here right now.',
    retryAfter: 1,
  });
}

/** A browser shows a script the status of a refusal only when the refusal allows its origin too. */
function withCors(error: unknown): Response {
  if (!(error instanceof Fault)) throw error;
  return faultResponse(error, {
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'Age, Date, Retry-After',
    'cache-control': 'no-store',
  });
}
