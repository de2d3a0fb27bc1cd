import type { StreamsKit } from '../config.ts';
import { documentOf } from '../document.ts';

/** How long a location is cached, ms, so that not every part costs a read. Longer while the store does not answer. */
export const believed = 1000;
/** Playback ids in memory; of more, those read longest ago go. */
const maxKnown = 10_000;

/** Where a playlist is. */
export interface PlaylistLocation {
  /** Id of the node that has it; undefined when none does. */
  readonly node: string | undefined;
  /** Its stream is on the air: the playlist is there, or is expected back. */
  readonly isActive: boolean;
  /** Undefined when there is none. `sessionId`: its newest session. */
  readonly stream: { readonly id: string; readonly account: string; readonly sessionId?: string } | undefined;
}

/** Which node has which playlist, by the rows of the streams. */
export function playlistLocations({ clock, resources }: Pick<StreamsKit, 'clock' | 'resources'>) {
  const known = new Map<string, { readonly at: number; readonly location: Promise<PlaylistLocation> }>();
  const read = async (playbackId: string): Promise<PlaylistLocation> => {
    const row = await resources.find('stream', 'playbackId', playbackId);
    // Invented ids must not fill the memory.
    if (row === undefined) known.delete(playbackId);
    const document = row && documentOf(row);
    return {
      node: document?.feeder?.node,
      isActive: document?.isActive ?? false,
      stream: document && {
        id: document.id,
        account: document.account,
        ...(document.sessionId && { sessionId: document.sessionId }),
      },
    };
  };
  return {
    /**
     * As it was less than `age` ms ago. While the store does not answer, as it was last known; throws its fault if it was
     * never known.
     */
    find(playbackId: string, { age = believed } = {}): Promise<PlaylistLocation> {
      const before = known.get(playbackId);
      if (before && clock.now() - before.at < age) return before.location;
      const location = read(playbackId).catch((error: unknown) => {
        if (before) return before.location;
        known.delete(playbackId);
        throw error;
      });
      known.delete(playbackId);
      known.set(playbackId, { at: clock.now(), location });
      const [oldest = ''] = known.keys();
      if (known.size > maxKnown) known.delete(oldest);
      return location;
    },
  };
}
