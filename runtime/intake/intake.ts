import { mkdir, readdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { uuid } from '../../core/ids.ts';
import { valuesOf } from '../../core/limit-table.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Intake } from '../../core/ports/intake.ts';
import { intakeLimits } from './limits.ts';
import { Receiving, type Shared, tooLarge } from './receiving.ts';
import { noRoom, unavailable, Writer } from './writer.ts';

/** Takes files in by a thread that writes and hashes them. `reserve`: bytes of the disk that are not for files that come. */
export function diskIntake(options: {
  readonly folder: string;
  readonly clock: Clock;
  readonly reserve: number;
  /** Of tests. */
  readonly limits?: Partial<Record<keyof typeof intakeLimits, number>>;
}): Intake {
  const { folder, clock, reserve } = options;
  const limits = { ...valuesOf(intakeLimits), ...options.limits };
  const running = new Map<Receiving, Promise<unknown>>();
  const shared: Shared = {
    ...{ clock, limits, unwritten: 0 },
    writer: new Writer({ clock, idle: limits.idle }),
    async checkRoom() {
      const { bavail, bsize } = await statfs(folder).catch((error: Error) => {
        throw unavailable(error.message, error);
      });
      const promised = [...running.keys()].reduce((sum, one) => sum + one.promised, 0);
      if (bavail * bsize - promised < reserve) throw noRoom();
    },
  };
  let isClosed = false;

  return {
    async open() {
      await mkdir(folder, { recursive: true });
      const left = (await readdir(folder)).filter((name) => name.endsWith(ending));
      for (const name of left) await rm(join(folder, name), { force: true });
    },
    async receive(body, given) {
      given.signal.throwIfAborted();
      if (isClosed) throw unavailable('the server is about to end');
      if ((given.expected ?? 0) > given.most) throw tooLarge(given.most);
      const path = join(folder, `${uuid()}${ending}`);
      // What the disk does not remove now, the next start does.
      const discard = () => rm(path, { force: true }).catch(() => {});
      const receiving = new Receiving(path, { shared, given });
      const run = receiving.run(body);
      running.set(receiving, run);
      try {
        return { path, ...(await run), discard };
      } catch (error) {
        await discard();
        throw error;
      } finally {
        running.delete(receiving);
      }
    },
    async close() {
      isClosed = true;
      const left = [...running];
      for (const [receiving] of left) receiving.end(unavailable('the server is about to end'));
      await Promise.allSettled(left.map(([, run]) => run));
      shared.writer.close();
    },
  };
}

const ending = '.upload';
