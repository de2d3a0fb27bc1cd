import { documentOf } from '../document.ts';
import type { StreamsKit } from '../kit.ts';
import { relayLimits } from './limits.ts';

const { places: most, placeKept } = relayLimits;

/** Where a playlist is. */
export interface Place {
  /** Id of the node that keeps it; undefined when none does. */
  readonly node: string | undefined;
  /** On the air by the book: it is there, or is expected back. */
  readonly isActive: boolean;
  /** When the store said so, epoch ms. */
  readonly at: number;
}

/** Which node has which playlist, by the rows of the streams; remembered for a second, that nobody reads a row a part. */
export class Places {
  readonly #kit: Pick<StreamsKit, 'clock' | 'resources'>;
  readonly #known = new Map<string, { place: Place | undefined; reading: Promise<Place> | undefined }>();

  constructor(kit: Pick<StreamsKit, 'clock' | 'resources'>) {
    this.#kit = kit;
  }

  /**
   * As it was less than `age` ms ago. While the store does not answer, as it was last known; of what was never known its
   * fault is thrown.
   */
  async find(playbackId: string, options: { age?: number } = {}): Promise<Place> {
    const { age = placeKept.value } = options;
    const known = this.#known.get(playbackId);
    if (known?.place && this.#kit.clock.now() - known.place.at < age) return known.place;
    try {
      return await (known?.reading ?? this.#read(playbackId));
    } catch (error) {
      if (known?.place) return known.place;
      throw error;
    }
  }

  #read(playbackId: string): Promise<Place> {
    const at = this.#kit.clock.now();
    const { resources } = this.#kit;
    const found = resources.find('stream', 'playbackId', playbackId, { isBeside: true });
    const reading = found.then((row): Place => {
      const document = row && documentOf(row);
      return { node: document?.feeder?.node, isActive: document?.isActive ?? false, at };
    });
    const entry = {
      place: this.#known.get(playbackId)?.place,
      reading: reading as Promise<Place> | undefined,
    };
    this.#known.delete(playbackId);
    this.#known.set(playbackId, entry);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= most.value) break;
      this.#known.delete(oldest);
    }
    reading.then(
      (place) => {
        entry.place = place;
        entry.reading = undefined;
      },
      () => {
        entry.reading = undefined;
        // Nothing is known: whoever comes next asks again.
        if (!entry.place && this.#known.get(playbackId) === entry) this.#known.delete(playbackId);
      },
    );
    return reading;
  }
}
