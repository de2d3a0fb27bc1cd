import { Fault } from '../../../../core/base/fault.ts';
import type { Log } from '../../../../core/base/log.ts';
import type { Jobs } from '../../../../core/ports/jobs.ts';
import type { Lease, Store } from '../../../../core/ports/store.ts';
import { type LinkOptions, RedisLink } from '../../redis/link.ts';
import type { RedisPlace } from '../../redis/sentinels.ts';
import { redisJobs } from './jobs.ts';
import { actorReads, eventReads } from './reads.ts';
import { resources } from './resources.ts';
import { type Ask, checkSafety, type SafetyOptions } from './safety.ts';
import { type ScriptName, type StoreParts, scripts as scriptsOf } from './scripts.ts';
import { writes } from './writes.ts';

export interface RedisStoreOptions extends SafetyOptions, RedisPlace {
  /** What all keys begin with. Default `millrace`. */
  readonly namespace?: string;
  readonly log: Log;
  /** Other bounds than those of `link.ts`, for tests. */
  readonly limits?: LinkOptions['limits'];
  /** Changes a script, for tests that break it on purpose. */
  readonly change?: (name: ScriptName, text: string) => string;
}

export interface RedisStore extends Store {
  /** In the same Redis, and in the same commits. */
  readonly jobs: Jobs;
}

/** How keys and values are laid out. A change that older code cannot read, or write, makes it one more. */
export const layout = 3;
/** Of events, causes and ended actors, a sweep deletes so many in one go. */
const sweptAtOnce = 100;

/**
 * The store on Redis, for any number of nodes. Connects at the first call, which fails with `store.unsafe`,
 * `store.refused`, `store.newer` or `store.older` when this Redis cannot be used. Any call may fail with `store.unreachable`
 * and `store.busy` (nothing happened), `store.full` (nothing was written), a write with `store.unknown` (it may have
 * happened); after `close`, with `store.closed`. None waits long for an answer, see `../../redis/link.ts`.
 */
export function redisStore(options: RedisStoreOptions): RedisStore {
  const { namespace = 'millrace' } = options;
  checkNamespace(namespace);
  const key = (name: string) => `${namespace}:${name}`;
  const onRestart = new Set<() => void>();
  /** The process of Redis that answered last. */
  let run: string | undefined;
  let isNewRun = false;
  /** The highest position of an event that this process has heard of. */
  let newest = 0;

  const scripts = scriptsOf({ link: () => link, heads: key('heads') }, options.change);
  const link = new RedisLink({
    ...options,
    async prepare(ask) {
      const current = await checkSafety(ask, options);
      isNewRun ||= run !== undefined && current !== run;
      run = current;
      await checkLayout(ask, { key, namespace });
      await scripts.load(ask);
      // Who follows the log goes by positions: after a rollback none may come again with another event.
      const last = Number((await ask(['HGET', key('heads'), 'last'])) ?? 0);
      if (last < newest) await ask(['HINCRBY', key('heads'), 'last', String(newest - last)]);
    },
    onOpen() {
      wake();
      if (isNewRun) for (const listener of onRestart) listener();
      isNewRun = false;
    },
  });
  const onEvents = (position: number) => {
    newest = Math.max(newest, position);
  };
  const parts = { link, scripts, key, onEvents };
  const { wake, ...jobs } = redisJobs(parts);
  return {
    ...partitions(parts),
    ...actorReads(parts),
    ...writes(parts),
    resources: resources(parts),
    events: eventReads(parts),
    jobs,
    onRestart(listener) {
      const own = () => listener();
      onRestart.add(own);
      return () => void onRestart.delete(own);
    },
    close: () => link.close(),
  };
}

function partitions({ scripts }: StoreParts): Pick<Store, 'acquire' | 'sweep'> {
  return {
    async acquire(count, { partitions, log: identity = '' } = {}) {
      if (!Number.isInteger(count) || count < 1)
        throw new RangeError(`${count} is not a number of partitions`);
      const all = Array.from({ length: count }, (_, partition) => partition);
      const wanted = all.filter((partition) => partitions?.includes(partition) ?? true);
      const values = [count, identity, wanted.length, ...wanted].map(String);
      const [outcome, ...heads] = (await scripts.run('acquire', values)) as string[];
      if (outcome !== 'ok') throw misfit([outcome, heads[0]], { count, identity });
      return wanted.map((partition, index): Lease => {
        const [epoch = 0, counter = 0, offset = -1] = heads.slice(index * 3, index * 3 + 3).map(Number);
        return { partition, epoch, counter, offset };
      });
    },
    async sweep(before, upTo = Number.MAX_SAFE_INTEGER) {
      for (let [most, passed] = [sweptAtOnce, 0]; most === sweptAtOnce; ) {
        const values = [before, upTo, sweptAtOnce, passed].map(String);
        const [seen, kept] = (await scripts.run('sweep', values)) as [number, number];
        most = seen;
        passed += kept;
      }
    },
  };
}

async function checkLayout(
  ask: Ask,
  { key, namespace }: { key: (name: string) => string; namespace: string },
): Promise<void> {
  // Where 0.1.0 kept it. It refuses the newer number that the move leaves there.
  const older = await ask(['HGET', `{${namespace}}:facts`, 'layout']);
  const stored = await ask(['HGET', key('facts'), 'layout']);
  if (older !== null && stored === null) {
    throw new Fault('store.older', {
      status: 500,
      message: `the data in Redis is of Millrace 0.1; stop all nodes and run "npm run migrate" once`,
    });
  }
  await ask(['HSETNX', key('facts'), 'layout', String(layout)]);
  if (Number(stored ?? layout) > layout) {
    throw new Fault('store.newer', {
      status: 500,
      message: `the data in Redis has layout ${stored}, written by a newer Millrace; this one knows up to ${layout}`,
    });
  }
}

function checkNamespace(namespace: string): void {
  if (!/^[a-zA-Z0-9._-]{1,64}$/.test(namespace)) {
    throw new RangeError(`redis.namespace is "${namespace}"; expected 1 to 64 of a-z A-Z 0-9 . _ -`);
  }
}

function misfit(
  [what, stored]: readonly (string | undefined)[],
  given: { count: number; identity: string },
): Fault {
  const message =
    what === 'partitions'
      ? `the data has ${stored} partitions, which is fixed for its life; ${given.count} are configured`
      : `the data was filled from the command log ${stored}; this one is ${given.identity}`;
  return new Fault(`store.${what}`, { status: 500, message });
}
