import { type PlayGate, playGate } from '../../core/http/play-gate.ts';
import type { PlayQuestion, PlayTerms } from '../../core/plugin/decide.ts';
import type { StreamsKit } from './config.ts';
import { playlistLocations } from './edge/playlist-locations.ts';
import { notLive } from './faults.ts';

/** For how long the stream of a playback id is not looked up again, ms. Longer while the store does not answer. */
const believed = 3000;

/** Asks the plugins that decide before a viewer gets something of a live stream. */
export interface LiveGate extends Pick<PlayGate, 'seal' | 'carry'> {
  /** Faults `playback.not_live` if there is no such stream, those of the gate, and of a store that never answered. */
  admit(request: Request, asked: Asked): Promise<PlayTerms | undefined>;
}

interface Asked {
  readonly playbackId: string;
  readonly file: string;
  /** Default: by the name of the file. */
  readonly what?: PlayQuestion['what'];
}

/** Undefined where nobody decides. */
export function liveGate(kit: StreamsKit): LiveGate | undefined {
  const gate = playGate(kit);
  if (!gate) return undefined;
  const locations = playlistLocations(kit);
  return {
    seal: gate.seal,
    carry: gate.carry,
    async admit(request, { playbackId, file, what = file.endsWith('.m3u8') ? 'playlist' : 'media' }) {
      // Text of another shape costs no read.
      const isId = /^[0-9a-z]{16}$/.test(playbackId);
      const stream = isId ? (await locations.find(playbackId, { age: believed })).stream : undefined;
      // Nothing is served of which it is not known whose it is.
      if (!stream) throw notLive();
      const { id: streamId, account, sessionId } = stream;
      const of = { kind: 'live', account, playbackId, streamId, ...(sessionId && { sessionId }) } as const;
      return gate.admit(request, { ...of, what, file });
    },
  };
}
