import { mkdir, readdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { uuid } from '../../../core/base/ids.ts';
import { valuesOf } from '../../../core/base/limit-table.ts';
import type { Blobs } from '../../../core/ports/blobs.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { PackedFile, Packer, PackOptions, PackSource } from '../../../core/ports/packer.ts';
import { Semaphore } from '../../base/semaphore.ts';
import { diskReason } from '../../disk/reason.ts';
import { packingLimits } from './limits.ts';
import { Packing, type Shared } from './packing.ts';
import { noRoom, PackingThread, unavailable } from './packing-thread.ts';

/** Packs files in a thread, to `folder`, and makes blobs of them. `reserve`: bytes of the disk that are not for that. */
export function packer(options: {
  readonly folder: string;
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly reserve: number;
  /** Of tests: another thread, other limits. */
  readonly worker?: URL;
  readonly limits?: Partial<Record<keyof typeof packingLimits, number>>;
}): Packer {
  const { folder, blobs, clock, reserve } = options;
  const limits = { ...valuesOf(packingLimits), ...options.limits };
  const running = new Map<Packing, Promise<unknown>>();
  const turns = new Semaphore(limits);
  const thread = new PackingThread({ clock, limits, worker: options.worker });
  let isClosed = false;
  const shared: Shared = {
    ...{ thread, blobs, limits },
    async checkRoom() {
      const { bavail, bsize } = await statfs(folder).catch((error: Error) => {
        throw unavailable(diskReason(error), error);
      });
      const promised = [...running.keys()].reduce((sum, one) => sum + one.promised, 0);
      if (bavail * bsize - promised < reserve) throw noRoom();
    },
  };

  /** To a file of this machine, and from there to its place. */
  const packed = async (source: PackSource, given: PackOptions): Promise<PackedFile> => {
    const path = join(folder, `${uuid()}${ending}`);
    const packing = new Packing(source, { shared, given: { ...given, progress: steps(given) } });
    try {
      const run = packing.run(path);
      running.set(packing, run);
      const { cid, name, size, places } = await run;
      const key = `${given.folder}${name}.car`;
      // One that is there holds the same file: whoever reads it is not disturbed.
      await blobs.adopt(key, path, { size, ifAbsent: true, signal: given.signal });
      return { cid, key, size, places };
    } finally {
      running.delete(packing);
      // What the disk does not remove now, the next start does.
      await rm(path, { force: true }).catch(() => {});
    }
  };

  /** Where storing it takes as long again, packing is half of it. */
  const steps = ({ progress }: PackOptions) => {
    const part = blobs.adopting === 'copy' ? 0.5 : 1;
    return (fraction: number) => progress?.(fraction * part);
  };

  return {
    async open() {
      await mkdir(folder, { recursive: true });
      const left = (await readdir(folder)).filter((name) => name.endsWith(ending));
      for (const name of left) await rm(join(folder, name), { force: true });
    },
    async pack(source, given) {
      if (isClosed) throw unavailable(closing);
      const leave = await turns.take(given.signal);
      if (leave === 'full') throw unavailable(`${limits.waiting} files wait to be packed`);
      try {
        return await packed(source, given);
      } finally {
        leave();
      }
    },
    async close() {
      isClosed = true;
      turns.refuse(unavailable(closing));
      const left = [...running];
      for (const [packing] of left) packing.end(unavailable(closing));
      await Promise.allSettled(left.map(([, run]) => run));
      thread.close();
    },
  };
}

const ending = '.car';
const closing = 'the server is about to end';
