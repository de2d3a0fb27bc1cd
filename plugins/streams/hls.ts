import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../core/base/fault.ts';
import { says } from '../../core/http/http.ts';
import { flagSchema, storeFaults, text } from '../../core/http/operation.ts';
import { publicPreflightAge, saysPreflight } from '../../core/http/public-access.ts';
import { flagOf } from '../../core/http/query.ts';
import { services } from '../../core/plugin/services.ts';
import type { ViewerRequest } from '../../core/ports/media.ts';
import { documentOf } from './document.ts';
import type { StreamsKit } from './kit.ts';
import { streamLimits } from './limits.ts';
import { liveResponse, refusalResponse } from './live-answer.ts';
import { liveFileRoutes } from './live-files.ts';
import { notOn } from './not-on.ts';
import { relay } from './relay/relay.ts';
import { viewerId, viewerOf } from './viewer.ts';

const longestWait = streamLimits.returnWait.value;

/** `/hls/{playbackId}/…`: playlists, parts and segments, for everyone. */
export function hlsRoutes(kit: StreamsKit): AnyElysia {
  let waiting = 0;
  /** Alone nobody else can have it. */
  const others = kit.deployment.isAlone ? undefined : relay(kit);

  const answer = async (viewer: ViewerRequest): Promise<Response> => {
    const served = kit.use(services.media).serve(viewer);
    if (served) return liveResponse(await served);
    if (others) return others.serve(viewer);
    if (waiting >= kit.config.maxWaitingViewers || !(await isExpected(viewer))) throw notOn();
    waiting += 1;
    try {
      const { signal } = viewer;
      await kit.use(services.media).appears(viewer.playbackId, { timeout: longestWait, signal });
    } finally {
      waiting -= 1;
    }
    const appeared = kit.use(services.media).serve(viewer);
    if (!appeared) throw notOn();
    return liveResponse(await appeared);
  };

  /** A playlist of a stream that is on the air by the book while this process has nothing of it yet. */
  const isExpected = async ({ file, playbackId }: ViewerRequest): Promise<boolean> => {
    if (!file.endsWith('.m3u8') || !/^[0-9a-z]{16}$/.test(playbackId)) return false;
    const row = await kit.resources.find('stream', 'playbackId', playbackId, { isBeside: true });
    return row !== undefined && documentOf(row).isActive;
  };

  return new Elysia()
    .use(liveFileRoutes(kit, { others, withCors }))
    .get(
      '/hls/:playbackId/*',
      ({ params, request }) => {
        const file = params['*'];
        const query = new URL(request.url).searchParams;
        const problem = queryProblem(query);
        if (problem) return withCors(problem);
        const viewer = viewerOf(request, { file, query, kit });
        const { playbackId } = params;
        const viewers = viewer === undefined ? {} : { viewers: [viewerId(viewer)] };
        const asked = { playbackId, file, query, signal: request.signal, ...viewers };
        return answer(asked).catch(withCors);
      },
      says(
        'Live playback for everyone: `index.m3u8` is the playlist to open, with `dvr=1` to seek back to the first second of a broadcast that is recorded.',
        {
          name: 'getLive',
          isOpen: true,
          isOnEveryNode: true,
          path: {
            playbackId: Type.String({ examples: ['6pukxh2m0ydr9h3q'] }),
            file: Type.String({ examples: ['index.m3u8'] }),
          },
          query: {
            _HLS_msn: wholeNumber('Waits for this segment.'),
            _HLS_part: wholeNumber('And this part of it.'),
            _HLS_skip: Type.String({
              description: '`YES` or `v2`: without what a player knows already, where so much is listed.',
              examples: ['YES'],
            }),
            dvr: flagSchema(
              'With `index.m3u8` of a broadcast that is recorded: all of it since its first second, in whole segments and some seconds further behind. While nothing is recorded, 404.',
            ),
          },
          answers: {
            200: text(['application/vnd.apple.mpegurl', 'video/mp4'], 'A playlist (RFC 8216), or media.'),
          },
          faults: [
            'playback.not_live',
            'playback.not_recorded',
            'playback.not_soon',
            'playback.too_many_waiting',
            'query.invalid',
            'node.unreachable',
            ...storeFaults,
          ],
        },
      ),
    )
    .options(
      '/hls/*',
      () => new Response(null, { status: 204, headers: preflight }),
      saysPreflight('preflightLive'),
    );
}

/** Each parameter counts for one playlist only, but wrong they are wrong everywhere. What is right has one way of writing. */
function queryProblem(query: URLSearchParams): unknown {
  if (query.size === 0) return undefined;
  try {
    if (flagOf(query, 'dvr')) query.set('dvr', '1');
  } catch (error) {
    return error;
  }
  const isWhole = reloadParameters.every((name) => /^\d{1,15}$/.test(query.get(name) ?? '0'));
  if (isWhole) return undefined;
  const message = `${reloadParameters.join(', ')}: expected whole numbers`;
  return new Fault('playback.not_soon', { status: 400, message });
}

const reloadParameters = ['_HLS_msn', '_HLS_part'];

/** Of a blocking reload (RFC 8216bis §6.2.5.2). */
function wholeNumber(description: string) {
  return Type.String({ pattern: '^\\d{1,15}$', description, examples: ['0'] });
}

const preflight = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, HEAD, OPTIONS',
  'access-control-allow-headers': 'Range',
  'access-control-max-age': String(publicPreflightAge),
};

function withCors(error: unknown): Response {
  if (!(error instanceof Fault)) throw error;
  return refusalResponse(error);
}
