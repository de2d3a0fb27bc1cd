import type { Caller } from '../../core/http/caller.ts';
import type { PlaySubject } from '../../core/plugin/decide.ts';
import type { Found, Playable, PlayedFacts } from '../playback/contract.ts';
import type { StreamsKit } from './config.ts';
import { stream } from './contract.ts';
import { documentOf, type StreamDocument } from './document.ts';

/** Live streams, by their playback id or by the id of the session that is on the air. */
export function livePlayable(kit: StreamsKit): Playable {
  return {
    async find(id, caller) {
      if (/^[0-9a-z]{16}$/.test(id)) {
        const row = await kit.resources.find('stream', 'playbackId', id);
        return row && infoOf(documentOf(row), caller);
      }
      const row = await kit.resources.get('stream', id);
      const document = row && documentOf(row);
      // The id of a parent is for its owner, and a session that is over is no longer live.
      const isLive = document?.isActive && document.parentId !== null;
      return isLive ? infoOf(document, caller) : undefined;
    },
  };
}

/** What is stored of a stream that is played, and of the stream of a recording. */
export function playedStream(kit: StreamsKit): (subject: PlaySubject) => Promise<PlayedFacts | undefined> {
  const shown = kit.resources.fields(stream);
  const read = async (id: string) => {
    const row = await kit.resources.get('stream', id);
    return row && documentOf(row);
  };
  return async ({ kind, streamId, sessionId }) => {
    const session = kind !== 'live' && sessionId ? await read(sessionId) : undefined;
    const id = kind === 'live' ? streamId : session?.parentId;
    const parent = id ? await read(id) : undefined;
    // Of a stream that is gone: as it was when the session began.
    if (!parent)
      return session && { names: [session.id, session.playbackId], fields: shown.present(session.fields) };
    const names = [parent.playbackId, ...(session ? [session.id] : [])];
    return { names, fields: shown.present(parent.fields) };
  };
}

function infoOf(document: StreamDocument, { baseUrl }: Caller): Found {
  const { id, parentId, account, playbackId, isActive } = document;
  const sessionId = parentId === null ? document.sessionId : id;
  const phase = phaseOf(document);
  return {
    type: 'live',
    subject: {
      ...{ kind: 'live', account, playbackId, streamId: parentId ?? id },
      ...(sessionId && { sessionId }),
    },
    ...(phase === 'over' && sessionId && { session: sessionId }),
    meta: {
      live: isActive ? 1 : 0,
      phase,
      source: [
        {
          // Players know HLS by this name, whatever its segments are made of.
          hrn: 'HLS (TS)',
          type: 'html5/application/vnd.apple.mpegurl',
          url: `${baseUrl}/hls/${playbackId}/index.m3u8`,
        },
      ],
    },
  };
}

function phaseOf({ isActive, isHeld, lastMediaAt }: StreamDocument): Found['meta']['phase'] {
  if (isActive) return isHeld ? 'interrupted' : 'live';
  // The first media of a new session cannot be watched yet.
  return lastMediaAt > 0 ? 'over' : 'upcoming';
}
