import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault, hasCode } from '../../core/base/fault.ts';
import { playlistType } from '../../core/hls/playlist.ts';
import { says } from '../../core/http/http.ts';
import { flagSchema, storeFaults, text } from '../../core/http/operation.ts';
import { gateFaults } from '../../core/http/play-gate.ts';
import { preconditions } from '../../core/http/preconditions.ts';
import { publicPreflightAge, saysPreflight } from '../../core/http/public-access.ts';
import { flagOf } from '../../core/http/query.ts';
import { services } from '../../core/plugin/services.ts';
import { findByName } from '../../core/vod/aliases.ts';
import { playbackAliases } from '../playback/contract.ts';
import type { StreamsKit } from './config.ts';
import { type LiveFile, liveFiles } from './contract.ts';
import { playlistLocations } from './edge/playlist-locations.ts';
import { type EdgeProxy, edgeProxy, returnWait, serveHere } from './edge/proxy.ts';
import { notLive } from './faults.ts';
import { liveResponse, refusalResponse } from './live-answer.ts';
import { type LiveGate, liveGate } from './live-gate.ts';
import { viewerId, viewerOf } from './viewer.ts';

/** `/hls/{playbackId}/…`: playlists, parts and segments, for everyone. */
export function hlsRoutes(kit: StreamsKit): AnyElysia {
  const media = kit.use(services.media);
  const others = kit.deployment.isAlone ? singleNode(kit) : edgeProxy(kit);
  const gate = liveGate(kit);
  const found = liveByName(kit);
  const answer = async (request: Request, of: { playbackId: string; file: string }): Promise<Response> => {
    const query = queryOf(request.url, { hasTokens: gate !== undefined });
    checkQuery(query);
    const viewer = viewerOf(request, { file: of.file, query, kit });
    const viewers = viewer === undefined ? {} : { viewers: [viewerId(viewer)] };
    const serve = async (playbackId: string) => {
      const terms = await gate?.admit(request, { ...of, playbackId });
      const asked = { ...of, playbackId, query, signal: request.signal, ...viewers };
      const served = media.serve(asked);
      if (!gate) return served ? liveResponse(await served) : others.serve(asked);
      if (!served) return gate.seal(await others.serve(asked), terms);
      const answer = await served;
      const isPlain = 'type' in answer && answer.type === 'playlist' && typeof answer.body === 'string';
      if (!terms?.pass || !isPlain) return gate.seal(liveResponse(answer), terms);
      // As text it is cheaper than as an answer.
      return gate.seal(liveResponse({ ...answer, body: gate.carry(answer.body, terms.pass) }), undefined);
    };
    return found(of.playbackId, serve);
  };

  return new Elysia()
    .use(liveFileRoutes(kit, { others, gate, found }))
    .get(
      '/hls/:playbackId/*',
      ({ params: { playbackId, '*': file }, request }) =>
        answer(request, { playbackId, file }).catch(withCors),
      says(
        'Live playback for everyone. Open the playlist `index.m3u8`; with `dvr=1` players can seek back to the first second of a recorded broadcast.',
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
              description:
                '`YES` or `v2`: without the segments that a player knows already, if the playlist is long enough.',
              examples: ['YES'],
            }),
            dvr: flagSchema(
              'With `index.m3u8` of a recorded broadcast: all of it since its first second, in whole segments and some seconds behind live. 404 while nothing is recorded.',
            ),
          },
          answers: {
            200: text(
              [playlistType, 'video/mp4', 'text/vtt'],
              'A playlist (RFC 8216), media, or the text of a track that a plugin adds.',
            ),
          },
          faults: [
            ...gateFaults,
            'playback.not_live',
            'playback.not_recorded',
            'playback.not_soon',
            'playback.too_many_waiting',
            'query.invalid',
            'node.unreachable',
            'server.busy',
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

/** `/hls/{playbackId}/{name}` for the files that other plugins make of live streams: on this node, or the one that has the stream. */
function liveFileRoutes(
  kit: StreamsKit,
  { others, gate, found }: { others: EdgeProxy; gate: LiveGate | undefined; found: LiveByName },
): AnyElysia {
  const app = new Elysia();
  for (const file of kit.offered(liveFiles)) {
    const { name, summary, operation } = file;
    app.get(
      `/hls/:playbackId/${name}`,
      ({ params: { playbackId }, request }: { params: Record<string, string>; request: Request }) =>
        found(playbackId, (id) => answerOf(file, { playbackId: id, request, others, gate })).catch(withCors),
      says(summary, {
        ...operation,
        isOpen: true,
        isOnEveryNode: true,
        path: { playbackId: Type.String({ examples: ['6pukxh2m0ydr9h3q'] }) },
        faults: [
          ...[...gateFaults, 'playback.not_live', 'playback.too_many_waiting', 'node.unreachable'],
          ...['server.busy', ...operation.faults, ...storeFaults],
        ],
      }),
    );
  }
  return app;
}

/** Serves a live stream by its playback id, or by an alias of it. Throws `playback.not_live` where there is none. */
type LiveByName = (name: string, serve: (playbackId: string) => Promise<Response>) => Promise<Response>;

function liveByName(kit: StreamsKit): LiveByName {
  const aliases = kit.offered(playbackAliases);
  if (aliases.length === 0) return (playbackId, serve) => serve(playbackId);
  const byName = findByName({ aliases, clock: kit.clock });
  return async (name, serve) => {
    const answer = await byName(name, (playbackId) =>
      serve(playbackId).catch((error: unknown) => {
        if (!hasCode(error, 'playback.not_live')) throw error;
        return undefined;
      }),
    );
    if (!answer) throw notLive();
    return answer;
  };
}

async function answerOf(
  file: LiveFile,
  {
    playbackId,
    request,
    others,
    gate,
  }: { playbackId: string; request: Request; others: EdgeProxy; gate: LiveGate | undefined },
): Promise<Response> {
  const { signal } = request;
  const terms = await gate?.admit(request, { playbackId, file: file.name, what: file.what ?? 'image' });
  const query = new URLSearchParams();
  const own = file.answer(playbackId, { signal });
  const made = await (own ?? others.serve({ playbackId, file: file.name, query, signal }));
  const answer = gate ? await gate.seal(made, terms) : made;
  const etag = answer.headers.get('etag')?.slice(1, -1);
  if (answer.status !== 200 || etag === undefined) return answer;
  // Compared here: one answer of another node serves many clients.
  if (preconditions(request.headers, { etag }) !== 'unchanged') return answer;
  const headers = new Headers(answer.headers);
  headers.delete('content-type');
  return new Response(null, { status: 304, headers });
}

/** The parameters. `hasTokens`: one answer serves all viewers, whatever their tokens, so these are left out. */
function queryOf(url: string, { hasTokens }: { hasTokens: boolean }): URLSearchParams {
  const from = url.indexOf('?') + 1;
  if (from === 0) return new URLSearchParams();
  const text = url.slice(from);
  const query = new URLSearchParams(hasTokens ? text.replace(/(^|&)token=[^&#]*/g, '') : text);
  if (hasTokens) query.delete('token');
  return query;
}

/** Checks the parameters for every file, though each matters to one playlist only. Normalises `dvr`. */
function checkQuery(query: URLSearchParams): void {
  if (query.size === 0) return;
  if (flagOf(query, 'dvr')) query.set('dvr', '1');
  if (reloadParameters.every((name) => /^\d{1,15}$/.test(query.get(name) ?? '0'))) return;
  const message = `${reloadParameters.join(', ')}: expected whole numbers`;
  throw new Fault('playback.not_soon', { status: 400, message });
}

const reloadParameters = ['_HLS_msn', '_HLS_part'];

/** Of a blocking reload (RFC 8216bis §6.2.5.2). */
function wholeNumber(description: string) {
  return Type.String({ pattern: '^\\d{1,15}$', description, examples: ['0'] });
}

const preflight = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, HEAD, OPTIONS',
  'access-control-allow-headers': 'Authorization, Range',
  'access-control-max-age': String(publicPreflightAge),
};

function withCors(error: unknown): Response {
  if (!(error instanceof Fault)) throw error;
  return refusalResponse(error);
}

/** A single node has no other to ask: a playlist of a broadcast that is expected back waits for it here. */
function singleNode(kit: StreamsKit): EdgeProxy {
  const media = kit.use(services.media);
  const locations = playlistLocations(kit);
  let waiting = 0;
  return {
    async serve(viewer) {
      const { playbackId, file, signal } = viewer;
      const mayWait = playlists.test(`${playbackId}/${file}`) && waiting < kit.config.maxWaitingViewers;
      if (!mayWait || !(await locations.find(playbackId)).isActive) throw notLive();
      waiting += 1;
      try {
        await media.appears(playbackId, { timeout: returnWait, signal });
      } finally {
        waiting -= 1;
      }
      return serveHere(media, viewer);
    },
  };
}

const playlists = /^[0-9a-z]{16}\/[0-9a-z_.]{1,64}\.m3u8$/;
