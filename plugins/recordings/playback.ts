import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../core/fault.ts';
import { requestHeaders } from '../../core/file-route.ts';
import { faultResponse, says } from '../../core/http.ts';
import { idSchema, nothing, type Operation, storeFaults, text } from '../../core/operation.ts';
import type { FaultTable } from '../../core/plugin.ts';
import { preflight, readableByAll, saysPreflight } from '../../core/public-access.ts';
import { exposed, vod, vodFaults } from '../../core/vod/answer.ts';
import { lastKnown } from '../../core/vod/last-known.ts';
import { vodLimits } from '../../core/vod/limits.ts';
import { type AssetFile, type AssetReference, assets } from '../assets/contract.ts';
import type { Playable } from '../playback/contract.ts';
import type { RecordingsKit } from './kit.ts';
import { assetIdOf, linksOf } from './names.ts';
import { isUnfinished, recordingOf } from './recording.ts';

export const playbackFaults: FaultTable = {
  'recording.not_found': {
    status: 404,
    meaning: 'There is no recording of this session, or it has no file of this name.',
  },
  'recording.not_ready': { status: 404, meaning: 'The recording is not finished yet.' },
};

/**
 * `/recordings/{sessionId}/…`: finished recordings, for everyone. What is asked for is looked up each time, so a recording that
 * was deleted is gone at once on every node, but for caches in front of them (`vodLimits`); only while the store does not
 * answer, what was found last still counts.
 */
export function playbackRoutes(kit: RecordingsKit): AnyElysia {
  const films = vod({ blobs: kit.blobs, bytes: kit.config.playbackMemory * 1_048_576 });
  const find = lastKnown((sessionId) => readyFile(sessionId, kit), { most: vodLimits.remembered.value });
  kit.metrics.reading('millrace_recording_playlists_bytes', {
    help: 'Memory that playlists and indexes of recordings take.',
    read: () => films.bytes,
  });

  const answer = async (sessionId: string, asked: { name: string; request: Request }): Promise<Response> => {
    const file = await find(sessionId);
    const answer = file && (await films.answer(file, asked));
    if (!answer) throw notFound;
    for (const [name, value] of Object.entries(open)) answer.headers.set(name, value);
    return answer;
  };

  const handle = ({ params, request }: { params: Record<string, string>; request: Request }) =>
    answer(params.sessionId, { name: params['*'], request }).catch(refused);
  return new Elysia()
    .get('/recordings/:sessionId/*', handle, says(summary, operation))
    .options('/recordings/*', preflight, saysPreflight('preflightRecording'));
}

const summary =
  'A finished recording for everyone: `index.m3u8` is the playlist to open, `source.mp4` the film as one file.';
const operation: Operation = {
  name: 'getRecording',
  isOpen: true,
  isOnEveryNode: true,
  path: {
    sessionId: idSchema,
    file: Type.String({ examples: ['index.m3u8', 'source.mp4'] }),
  },
  headers: requestHeaders,
  answers: {
    200: text(['application/vnd.apple.mpegurl', 'video/mp4'], 'A playlist (RFC 8216), or media.'),
    206: text(['video/mp4'], 'The bytes that `Range` names.'),
    304: { ...nothing, description: 'The client has this version.' },
  },
  faults: ['recording.not_found', 'recording.not_ready', ...vodFaults, ...storeFaults],
};

/** Finished recordings, by the id of their session. */
export function recordedPlayable(kit: Pick<RecordingsKit, 'deployment' | 'use'>): Playable {
  return {
    async find(id) {
      const asset = await assetOf(id, kit);
      if (asset?.status !== 'ready') return undefined;
      const { recordingUrl, mp4Url } = linksOf(id, kit.deployment);
      return {
        type: 'recording',
        meta: {
          live: 0,
          source: [
            { hrn: 'HLS (TS)', type: 'html5/application/vnd.apple.mpegurl', url: recordingUrl },
            { hrn: 'MP4', type: 'html5/video/mp4', url: mp4Url },
          ],
        },
      };
    },
  };
}

/** Undefined where there is none; Fault `recording.not_ready` while there is none yet. */
async function readyFile(sessionId: string, kit: RecordingsKit): Promise<AssetFile | undefined> {
  const asset = await assetOf(sessionId, kit);
  if (asset) {
    if (asset.status === 'waiting') throw notReady;
    return asset.status === 'ready' ? asset.file : undefined;
  }
  // The asset is made when the session is over.
  const recording = isId.test(sessionId) ? await recordingOf(sessionId, kit.resources) : undefined;
  if (recording && isUnfinished(recording)) throw notReady;
  return undefined;
}

async function assetOf(
  sessionId: string,
  kit: Pick<RecordingsKit, 'use'>,
): Promise<AssetReference | undefined> {
  return isId.test(sessionId) ? kit.use(assets).find(assetIdOf(sessionId)) : undefined;
}

const isId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const open = { ...readableByAll, 'access-control-expose-headers': exposed };

/** A browser shows a script the status of a refusal only when the refusal allows its origin too. */
function refused(error: unknown): Response {
  if (!(error instanceof Fault)) throw error;
  return faultResponse(error, { ...open, 'cache-control': 'no-store' });
}

const notFound = new Fault('recording.not_found', {
  status: 404,
  message: 'There is no such recording, or it has no file of this name.',
});
const notReady = new Fault('recording.not_ready', {
  status: 404,
  message: 'The recording of this session is not finished yet.',
  retryAfter: 5,
});
