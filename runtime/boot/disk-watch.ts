import { dirname, join } from 'node:path';
import type { Log } from '../../core/base/log.ts';
import type { Metrics } from '../../core/base/metrics.ts';
import { every } from '../../core/base/timing.ts';
import type { Clock } from '../../core/ports/clock.ts';
import { type DiskLook, type DiskState, lookAtDisk } from '../base/disk.ts';

/** Time between two looks, ms. */
const interval = 10_000;
/** Bytes that must be free beyond the reserve before a disk that was nearly full has room again: otherwise the log would flap. */
const slack = 64 * 1_048_576;

/** A folder of this node, and what becomes of it when its disk has less free than the reserve. */
export interface DiskPlace {
  readonly folder: string;
  /** Bytes. */
  readonly reserve: number;
  /** What does not work then, for operators, such as `uploads are refused`. */
  readonly beyond: string;
}

/**
 * Watches how full the disks of this node are, and tells operators. Code that writes checks for itself. A nearly full disk does
 * not make the node unready: what is stored still plays, and deleting frees space.
 */
export class DiskWatch {
  readonly #places: readonly (readonly [string, DiskPlace])[];
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #look: DiskLook;
  readonly #states = new Map<string, DiskState>();
  readonly #low = new Set<string>();
  #looking: Promise<void> | undefined;
  #stop = () => {};

  /** @param options.look of tests */
  constructor(
    places: Readonly<Record<string, DiskPlace>>,
    options: { clock: Clock; log: Log; look?: DiskLook },
  ) {
    this.#places = Object.entries(places);
    this.#clock = options.clock;
    this.#log = options.log;
    this.#look = options.look ?? lookAtDisk;
  }

  /** From now on. Resolves when all were looked at once. */
  async start(): Promise<void> {
    this.#stop = every(interval, { clock: this.#clock, work: () => void this.look() });
    await this.look();
  }

  stop(): void {
    this.#stop();
  }

  /** What does not work because a disk is nearly full. Without numbers and folders: everyone may read them. */
  get issues(): string[] {
    const low = this.#places.filter(([name]) => this.#low.has(name));
    return [...new Set(low.map(([, { beyond }]) => `A disk is nearly full: ${beyond}. Free some space.`))];
  }

  measure(metrics: Metrics): void {
    const readings = (name: string, help: string, of: (state: DiskState, place: DiskPlace) => number) =>
      metrics.readings(name, {
        help,
        read: () =>
          this.#places.flatMap(([place, its]) => {
            const state = this.#states.get(place);
            return state ? [{ labels: { place }, value: of(state, its) }] : [];
          }),
      });
    readings('millrace_disk_free_bytes', 'Free on the disk of this folder of the data.', ({ free }) => free);
    readings('millrace_disk_size_bytes', 'Size of that disk.', ({ size }) => size);
    readings('millrace_disk_reserve_bytes', 'What is left free there.', (_, { reserve }) => reserve);
    metrics.beforeReading(() => this.look());
  }

  /** Looks now, and says so when something has changed. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#lookAtAll().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookAtAll(): Promise<void> {
    await Promise.all(this.#places.map(([name, place]) => this.#lookAt(name, place)));
  }

  async #lookAt(name: string, { folder, reserve, beyond }: DiskPlace): Promise<void> {
    // A folder that is not there yet is made when it is needed.
    const state = await this.#look(folder)
      .catch(() => this.#look(dirname(folder)))
      .catch(() => undefined);
    if (!state) {
      this.#states.delete(name);
      return;
    }
    this.#states.set(name, state);
    const wasLow = this.#low.has(name);
    const isLow = state.free < reserve + (wasLow ? slack : 0);
    if (isLow === wasLow) return;
    const fields = { place: name, folder, free: state.free, size: state.size, reserve };
    if (isLow) {
      this.#low.add(name);
      this.#log.warn(`a disk is nearly full: ${beyond}`, fields);
    } else {
      this.#low.delete(name);
      this.#log.info('a disk that was nearly full has room again', fields);
    }
  }
}

/** Where this node writes, and how much each leaves free. `blobs`: only where they are in a directory. */
export function diskPlaces(settings: {
  readonly dataDir: string;
  /** MiB. */
  readonly recording: { readonly reserve: number };
  readonly uploads: { readonly reserve?: number };
  readonly drivers: { readonly blobs: 'fs' | 's3' };
}): Record<'data' | 'recordings' | 'uploads', DiskPlace> & { readonly blobs?: DiskPlace } {
  const { dataDir, recording, uploads, drivers } = settings;
  const least = recording.reserve * 1_048_576;
  const reserve = uploads.reserve === undefined ? 2 * least : uploads.reserve * 1_048_576;
  const blobs = { folder: join(dataDir, 'blobs'), reserve, beyond: 'uploads and imports are refused' };
  return {
    data: { folder: dataDir, reserve: least, beyond: 'soon nothing can be changed any more' },
    recordings: { folder: join(dataDir, 'recordings'), reserve: least, beyond: 'nothing is recorded' },
    uploads: { folder: join(dataDir, 'uploads'), reserve, beyond: 'uploads and imports are refused' },
    ...(drivers.blobs === 'fs' && { blobs }),
  };
}
