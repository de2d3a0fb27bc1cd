import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { uuid } from '../../../core/base/ids.ts';
import { Removed } from '../../../core/plugin/sweep-counts.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Intake } from '../../../core/ports/intake.ts';
import { type DiskLook, lookAtDisk } from '../../base/disk.ts';
import { partialFiles } from './partial-files.ts';
import { intakeLimits, Receiving, type Shared, tooLarge } from './receiving.ts';
import { Room } from './room.ts';
import { unavailable, Writer } from './writer.ts';

/** Receives files with a thread that writes and hashes them. `reserve`: bytes of the disk that uploads must leave free. */
export function diskIntake(options: {
  readonly folder: string;
  readonly clock: Clock;
  readonly reserve: number;
  /** Folder of the blobs, if they are on this machine. If it is another disk, it needs room for the files too. */
  readonly store?: string | undefined;
  /** Set by tests, like `limits`. */
  readonly look?: DiskLook;
  readonly limits?: Partial<typeof intakeLimits>;
}): Intake {
  const { folder, clock, reserve } = options;
  const limits = { ...intakeLimits, ...options.limits };
  const running = new Map<Receiving, Promise<unknown>>();
  const room = new Room({ spool: folder, store: options.store, reserve, look: options.look ?? lookAtDisk });
  const writer = new Writer();
  let isClosed = false;
  const shared: Shared = {
    ...{ clock, limits, room, writer, unwritten: 0 },
    async run(receiving, body) {
      if (isClosed) throw unavailable('the server is stopping');
      const run = receiving.run(body);
      running.set(receiving, run);
      return run.finally(() => running.delete(receiving));
    },
  };
  const partial = partialFiles({ folder, another: ending, shared });

  return {
    partial,
    async open() {
      await mkdir(folder, { recursive: true });
      const left = (await readdir(folder)).filter((name) => name.endsWith(ending));
      const removed = new Removed();
      for (const name of left) {
        const path = join(folder, name);
        const { size } = await stat(path);
        await rm(path, { force: true });
        removed.add(size);
      }
      for (const size of await partial.open()) removed.add(size);
      return removed;
    },
    checkRoom: (bytes) => room.check(bytes),
    async receive(body, given) {
      const { signal, most, expected = 0 } = given;
      const path = join(folder, `${uuid()}${ending}`);
      const target = { path, base: 0, most, tooMuch: () => tooLarge(most) };
      const receiving = new Receiving(target, { shared, given });
      const discard = async () => {
        writer.forget(path);
        // If it cannot be removed now, the next start removes it.
        await rm(path, { force: true }).catch(() => {});
        receiving.release();
      };
      try {
        signal.throwIfAborted();
        if (expected > most) throw tooLarge(most);
        const size = await shared.run(receiving, body);
        return { path, size, ...(await writer.hash({ path, size })), discard };
      } catch (error) {
        // Nobody has begun to read it.
        if (body && !body.locked) body.cancel().catch(() => {});
        await discard();
        throw error;
      }
    },
    async close() {
      isClosed = true;
      const left = [...running];
      for (const [receiving] of left) receiving.end(unavailable('the server is stopping'));
      await Promise.allSettled(left.map(([, run]) => run));
      writer.close();
    },
  };
}

const ending = '.upload';
