import { Fault } from '../../../../core/base/fault.ts';
import type { Log } from '../../../../core/base/log.ts';
import type { Outbox, Store } from '../../../../core/ports/store.ts';
import { appender } from './appender.ts';
import { commits } from './commits.ts';
import { engine } from './engine.ts';
import { eventLog, type Newest } from './event-log.ts';
import { keys as keysOf } from './keys.ts';
import { redisLimits } from './limits.ts';
import { link as linkTo } from './link.ts';
import { outboxes } from './outboxes.ts';
import { partitionsOf } from './partitions.ts';
import { resources } from './resources.ts';
import { checkSafety, type SafetyOptions } from './safety.ts';
import { type ScriptName, scripts } from './scripts.ts';
import { sweeper } from './sweeper.ts';

export interface RedisStoreOptions extends SafetyOptions {
  /** `redis://`, `rediss://` or `unix://`, with user, password and database as is usual. */
  readonly url: string;
  /** Authority that signed its certificate, as PEM. Default: those of the system. */
  readonly ca?: string;
  /** What all keys begin with. Default `millrace`. */
  readonly namespace?: string;
  readonly log?: Log;
  /** Other bounds than those of `redisLimits`, for tests. */
  readonly limits?: Partial<Record<'waiting' | 'connect' | 'answer' | 'firstPause' | 'longestPause', number>>;
  /** Changes a script, for tests that break it on purpose. */
  readonly change?: (name: ScriptName, text: string) => string;
}

export interface RedisStore extends Store {
  readonly outbox: Outbox;
}

/** How keys and values are laid out. A change that older code cannot read, or write, makes it one more. */
const layout = 2;
/** From here on names are drawn to lie beside their actors. Older data keeps its number: its names stay where they are. */
const layoutOfNames = 2;

/**
 * The store on Redis, for any number of nodes. Connects at the first call, which fails with `store.unsafe`,
 * `store.refused` or `store.newer` when this Redis cannot be used. Any call may fail with `store.unreachable` and
 * `store.busy` (nothing happened), `store.full` (nothing was written), a write with `store.unknown` (it may have
 * happened); after `close`, with `store.closed`. None waits longer than `redisLimits.answer` for an answer.
 *
 * Every cause but that of a numbered or logged command is remembered, also of a step that finishes a job: jobs are
 * not here.
 */
export function redisStore(options: RedisStoreOptions): RedisStore {
  const keys = keysOf(options.namespace ?? 'millrace');
  const all = scripts(options.change);
  const calls = new Set<Promise<unknown>>();
  const onRestart = new Set<() => void>();
  /** The process that was asked last. */
  let run: string | undefined;
  let isNewRun = false;
  let stored = 0;
  let closing: Promise<void> | undefined;

  const newest: Newest = { position: 0 };
  const link = linkTo({
    url: options.url,
    ...(options.ca !== undefined && { ca: options.ca }),
    log: options.log,
    limits: { ...redisLimits, ...options.limits },
    async prepare(ask) {
      const current = await checkSafety(ask, options);
      isNewRun ||= run !== undefined && current !== run;
      run = current;
      await ask(['HSETNX', keys.facts, 'layout', String(layout)]);
      stored = Number(await ask(['HGET', keys.facts, 'layout']));
      checkLayout(stored);
      for (const { text } of Object.values(all)) await ask(['SCRIPT', 'LOAD', text]);
      // Who follows the log goes by positions: after a rollback none may come again with another event.
      await ask(['EVALSHA', all.floor.hash, '1', keys.log('head'), String(newest.position)]);
    },
    onOpen() {
      // What a write that nobody knows of left behind does not wait for the next one.
      log.recover().catch(() => {});
      if (!isNewRun) return;
      isNewRun = false;
      for (const listener of onRestart) listener();
    },
  });
  const within = { link, engine: engine(link, all), keys };
  const outbox = outboxes(within);
  const log = appender({ ...within, outbox, newest });
  const { shards, ...partitions } = partitionsOf({ ...within, log });
  const { commit, consume, write } = commits({ ...within, log, shards });
  const { get, find, list, count } = resources({
    ...{ ...within, shards },
    hasOldNames: () => stored < layoutOfNames,
  });
  const events = eventLog({ ...within, newest });
  const sweep = sweeper({ ...within, shards });

  /** So that a close waits for what was asked for before it. */
  const counted = <Arguments extends unknown[], Value>(call: (...values: Arguments) => Promise<Value>) => {
    return (...values: Arguments): Promise<Value> => {
      if (closing) {
        const message = 'the connection to Redis is closed';
        return Promise.reject(new Fault('store.closed', { status: 503, message }));
      }
      const running = call(...values);
      const end = () => calls.delete(running);
      calls.add(running);
      running.then(end, end);
      return running;
    };
  };

  return {
    acquire: counted(partitions.acquire),
    load: counted(partitions.load),
    isConsumed: counted(partitions.isConsumed),
    timers: counted(partitions.timers),
    orders: counted(partitions.orders),
    acknowledge: counted(partitions.acknowledge),
    commit: counted(commit),
    consume: counted(consume),
    write: counted(write),
    resources: {
      get: counted(get),
      find: counted(find),
      list: counted(list),
      count: counted(count),
    },
    events: {
      after: counted(events.after),
      position: counted(events.position),
      last: counted(events.last),
      cursor: counted(events.cursor),
      advance: counted(events.advance),
    },
    outbox: {
      pending: counted(async (partition, options) => {
        const entries = await outbox.pending(partition, options);
        // Whoever reads them settles them soon, and a commit may have got no further than its outbox.
        await log.ensure(entries);
        return entries;
      }),
      settle: counted(outbox.settle),
    },
    sweep: counted(sweep),
    onRestart(listener) {
      const own = () => listener();
      onRestart.add(own);
      return () => void onRestart.delete(own);
    },
    close() {
      closing ??= Promise.allSettled(calls).then(() => link.close());
      return closing;
    },
  };
}

function checkLayout(stored: number): void {
  if (stored <= layout) return;
  throw new Fault('store.newer', {
    status: 500,
    message: `the data in Redis has layout ${stored}, written by a newer Millrace; this one knows up to ${layout}`,
  });
}
