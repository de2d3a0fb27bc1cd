import { type AnyElysia, Elysia } from 'elysia';
import { isUuid } from '../../core/base/ids.ts';
import { idSchema } from '../../core/http/operation.ts';
import { playGate } from '../../core/http/play-gate.ts';
import { preflight, saysPreflight } from '../../core/http/public-access.ts';
import { faultMaker, faultsOf } from '../../core/plugin/fault-table.ts';
import { findByName } from '../../core/vod/aliases.ts';
import { type FoundFilm, filmRoute } from '../../core/vod/route.ts';
import { assets, films } from '../assets/contract.ts';
import { notReady as notWatchable, type Playable, playbackAliases } from '../playback/contract.ts';
import type { RecordingsKit } from './config.ts';
import { assetIdOf, isUnfinished, linksOf, recordingOf } from './recording.ts';

export const playbackFaults = faultsOf(404, {
  'recording.not_found': 'There is no recording of this session, or it has no file of this name.',
  'recording.not_ready': 'The recording is not finished yet.',
});
const fault = faultMaker(playbackFaults);

/** `/recordings/{sessionId}/…`: finished recordings, for everyone. */
export function playbackRoutes(kit: RecordingsKit): AnyElysia {
  const byName = findByName({ aliases: kit.offered(playbackAliases), clock: kit.clock });
  return new Elysia()
    .use(
      filmRoute('/recordings', {
        name: 'getRecording',
        summary:
          'A finished recording for everyone: `index.m3u8` is the playlist to open, `source.mp4` the film as one file.',
        id: { name: 'sessionId', schema: idSchema },
        faults: ['recording.not_found', 'recording.not_ready'],
        find: (name) => byName(name, (sessionId) => readyFilm(sessionId, kit)),
        absent: notFound,
        films: kit.use(films),
        gate: playGate(kit),
      }),
    )
    .options('/recordings/*', preflight, saysPreflight('preflightRecording'));
}

/** Recordings, by the id of their session. */
export function recordedPlayable(kit: RecordingsKit): Playable {
  return {
    async find(id, caller) {
      const found = await readyFilm(id, kit).catch((error: unknown) => {
        throw error === notReady ? notWatchable : error;
      });
      if (!found) return undefined;
      const { recordingUrl, mp4Url } = linksOf(id, caller);
      return {
        subject: found.subject,
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
async function readyFilm(sessionId: string, kit: RecordingsKit): Promise<FoundFilm | undefined> {
  if (!isUuid(sessionId)) return undefined;
  const asset = await kit.use(assets).find(assetIdOf(sessionId));
  if (asset?.status === 'waiting') throw notReady;
  if (asset) {
    const { id: assetId, account, playbackId, file } = asset;
    const identity = { assetId, account, playbackId, sessionId };
    return file && { film: { ...file, identity }, subject: { kind: 'recording', ...identity } };
  }
  // The asset is made when the session is over.
  const recording = await recordingOf(sessionId, kit.resources);
  if (recording && isUnfinished(recording)) throw notReady;
  return undefined;
}

const notFound = fault('recording.not_found', 'There is no such recording, or it has no file of this name.');
const notReady = fault('recording.not_ready', 'The recording of this session is not finished yet.', {
  retryAfter: 5,
});
