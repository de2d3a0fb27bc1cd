import type { StreamsKit } from '../config.ts';
import { documentOf } from '../document.ts';

/** How long a location is believed, ms: nobody reads a row for each part. While the store does not answer, longer. */
export const believed = 1000;
/** Playback ids in memory; of more, those read longest ago go. */
const maxKnown = 10_000;

/** Where a playlist is. */
export interface PlaylistLocation {
  /** Id of the node that has it; undefined when none does. */
  readonly node: string | undefined;
  /** Its stream is on the air: the playlist is there, or is expected back. */
  readonly isActive: boolean;
  /** When it was read from the store, epoch ms. */
  readonly at: number;
}

/** Which node has which playlist, by the rows of the streams. */
export class PlaylistLocations {
  readonly #kit: Pick<StreamsKit, 'clock' | 'resources'>;
  readonly #known = new Map<string, PlaylistLocation>();
  readonly #reading = new Map<string, Promise<PlaylistLocation>>();

  constructor(kit: Pick<StreamsKit, 'clock' | 'resources'>) {
    this.#kit = kit;
  }

  /**
   * As it was less than `age` ms ago. While the store does not answer, as it was last known; throws its fault if it was
   * never known.
   */
  async find(playbackId: string, { age = believed } = {}): Promise<PlaylistLocation> {
    const known = this.#known.get(playbackId);
    if (known && this.#kit.clock.now() - known.at < age) return known;
    const reading = this.#reading.get(playbackId) ?? this.#read(playbackId);
    return known ? reading.catch(() => known) : reading;
  }

  #read(playbackId: string): Promise<PlaylistLocation> {
    const { clock, resources } = this.#kit;
    const at = clock.now();
    const reading = resources
      .find('stream', 'playbackId', playbackId, { isBeside: true })
      .then((row) => {
        const document = row && documentOf(row);
        const location = { node: document?.feeder?.node, isActive: document?.isActive ?? false, at };
        this.#known.delete(playbackId);
        this.#known.set(playbackId, location);
        const [oldest = ''] = this.#known.keys();
        if (this.#known.size > maxKnown) this.#known.delete(oldest);
        return location;
      })
      .finally(() => this.#reading.delete(playbackId));
    this.#reading.set(playbackId, reading);
    return reading;
  }
}
