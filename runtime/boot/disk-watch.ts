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
  readonly #disks: readonly Disk[];
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #look: DiskLook;
  #looking: Promise<unknown> | undefined;
  #stop = () => {};

  /** @param options.look of tests */
  constructor(
    places: Readonly<Record<string, DiskPlace>>,
    { clock, log, look = lookAtDisk }: { clock: Clock; log: Log; look?: DiskLook },
  ) {
    this.#disks = Object.entries(places).map(([name, place]) => ({ name, place, isLow: false }));
    this.#clock = clock;
    this.#log = log;
    this.#look = look;
  }

  /** From now on. Resolves when all were looked at once. */
  async start(): Promise<void> {
    this.#stop = every(interval, { clock: this.#clock, work: () => void this.look() });
    await this.look();
  }

  stop(): void {
    this.#stop();
  }

  /** The disk of the data folder, as it was when it was looked at last. */
  get data(): DiskState | undefined {
    return this.#disks.find(({ name }) => name === 'data')?.state;
  }

  /** What does not work because a disk is nearly full. Without numbers and folders: everyone may read them. */
  get issues(): string[] {
    const low = this.#disks.filter(({ isLow }) => isLow);
    return [...new Set(low.map(({ place }) => `A disk is nearly full: ${place.beyond}. Free some space.`))];
  }

  measure(metrics: Metrics): void {
    const readings = (name: string, help: string, of: (state: DiskState, place: DiskPlace) => number) =>
      metrics.readings(name, {
        help,
        read: () =>
          this.#disks.flatMap(({ name, place, state }) =>
            state ? [{ labels: { place: name }, value: of(state, place) }] : [],
          ),
      });
    readings('millrace_disk_free_bytes', 'Free on the disk of this folder of the data.', ({ free }) => free);
    readings('millrace_disk_size_bytes', 'Size of that disk.', ({ size }) => size);
    readings(
      'millrace_disk_reserve_bytes',
      'Bytes that recordings, or uploads and imports, leave free on this disk.',
      (_, { reserve }) => reserve,
    );
    metrics.beforeReading(() => this.look());
  }

  /** Looks now, and says so when something has changed. Never rejects. */
  async look(): Promise<void> {
    this.#looking ??= Promise.all(this.#disks.map((disk) => this.#lookAt(disk))).finally(() => {
      this.#looking = undefined;
    });
    await this.#looking;
  }

  async #lookAt(disk: Disk): Promise<void> {
    const { name, place } = disk;
    const { folder, reserve, beyond } = place;
    // A folder that is not there yet is made when it is needed.
    disk.state = await this.#look(folder)
      .catch(() => this.#look(dirname(folder)))
      .catch(() => undefined);
    if (!disk.state) return;
    const { free, size } = disk.state;
    const isLow = free < reserve + (disk.isLow ? slack : 0);
    if (isLow === disk.isLow) return;
    disk.isLow = isLow;
    const fields = { place: name, folder, free, size, reserve };
    if (isLow) this.#log.warn(`a disk is nearly full: ${beyond}`, fields);
    else this.#log.info('a disk that was nearly full has room again', fields);
  }
}

interface Disk {
  readonly name: string;
  readonly place: DiskPlace;
  /** As it was when it was looked at last; undefined when that failed. */
  state?: DiskState | undefined;
  isLow: boolean;
}

/** Where this node writes, and how much each leaves free. `blobs`: only where they are in a directory. */
export function diskPlaces(settings: {
  readonly dataDir: string;
  /** MiB. */
  readonly recording: { readonly reserve: number };
  readonly uploads: { readonly reserve?: number };
  readonly drivers: { readonly blobs: string };
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
