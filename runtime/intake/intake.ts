import { mkdir, readdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { uuid } from '../../core/ids.ts';
import { valuesOf } from '../../core/limit-table.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Intake } from '../../core/ports/intake.ts';
import { intakeLimits } from './limits.ts';
import type { PartialShared } from './partial-file.ts';
import { partialFiles } from './partial-files.ts';
import type { Hashes } from './protocol.ts';
import { type Destination, Receiving, tooLarge } from './receiving.ts';
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
  const running = new Map<Receiving<unknown>, Promise<unknown>>();
  let isClosed = false;
  const shared: PartialShared = {
    ...{ clock, limits, unwritten: 0 },
    writer: new Writer({ clock, idle: limits.idle }),
    async checkRoom() {
      if (isClosed) throw unavailable('the server is about to end');
      const { bavail, bsize } = await statfs(folder).catch((error: Error) => {
        throw unavailable(error.message, error);
      });
      const promised = [...running.keys()].reduce((sum, one) => sum + one.promised, 0);
      if (bavail * bsize - promised < reserve) throw noRoom();
    },
    async track(receiving, body) {
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
      for (const name of left) await rm(join(folder, name), { force: true });
      await partial.open();
    },
    async receive(body, given) {
      given.signal.throwIfAborted();
      if (isClosed) throw unavailable('the server is about to end');
      if ((given.expected ?? 0) > given.most) throw tooLarge(given.most);
      const path = join(folder, `${uuid()}${ending}`);
      // What the disk does not remove now, the next start does.
      const discard = () => rm(path, { force: true }).catch(() => {});
      const { writer } = shared;
      const to: Destination<{ readonly size: number } & Hashes> = {
        most: given.most,
        tooMuch: () => tooLarge(given.most),
        begin: (ears) => writer.begin({ path, sync: limits.sync }, ears),
        end: (id) => writer.end(id),
        breakOff: (id) => writer.drop(id),
        outcome: (size, hashes) => ({ size, ...(hashes as Hashes) }),
      };
      try {
        return { path, ...(await shared.track(new Receiving(to, { shared, given }), body)), discard };
      } catch (error) {
        await discard();
        throw error;
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
