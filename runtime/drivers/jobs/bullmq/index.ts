import type { JobJson, MinimalJob } from 'bullmq';
import type { Log } from '../../../../core/base/log.ts';
import type { Job, JobOutcome, QueuedJob, QueuedJobs } from '../../../../core/ports/jobs.ts';
import { RedisChannels } from '../../redis/channels.ts';
import { type RedisClient, RedisConnection } from '../../redis/connection.ts';
import { redisScript, type ScriptChange } from '../../redis/script.ts';
import { bullmqLimits } from './limits.ts';
import { decoded, encoded, grouped, kindOf } from './names.ts';
import { type JobQueue, Queues } from './queues.ts';

export interface BullmqJobsOptions {
  /** `redis://` or `rediss://`. */
  readonly url: string;
  /** Authority that signed its certificate, as PEM. Default: those of the system. */
  readonly ca?: string;
  /** Deployments with different ones know nothing of each other. */
  readonly namespace: string;
  readonly log: Log;
  readonly change?: ScriptChange;
}

/**
 * Jobs in BullMQ, one queue for each kind, by its scripts alone: nothing runs but what is called. A lease is BullMQ's
 * lock, which ends by the clock of Redis; due times go by the clocks of those who claim. Connects with the first call;
 * Fault `jobs.unavailable` (503) from any call when Redis does not answer in time. Then what it was about may have
 * happened.
 */
export function bullmqJobs({ url, ca, namespace, log, change }: BullmqJobsOptions): QueuedJobs {
  // The braces keep all keys of a deployment together, should Redis be a cluster.
  const prefix = `{${namespace}}:jobs`;
  const kindsKey = `${prefix}.kinds`;
  const channel = `${prefix}.changed`;
  const reached = { url, ca, log, unavailable: 'jobs.unavailable' };
  const connection = new RedisConnection(reached);
  const queues = new Queues({ connection, prefix });
  const scripts = scriptsOf(change);
  const wakes = new Set<() => void>();
  const wakeAll = () => {
    for (const wake of wakes) wake();
  };
  const channels = new RedisChannels({ ...reached, onBack: wakeAll });

  const knownKinds = () => connection.ask((client) => client.sMembers(kindsKey));
  const tell = (client: RedisClient) => {
    // Whoever does not hear it looks by themselves.
    client.publish(channel, '').catch(() => {});
  };
  const held = (id: string, call: (client: RedisClient, queue: JobQueue) => Promise<void>) =>
    queues.ask([kindOf(id)], async (client, [queue]) => {
      try {
        await call(client, queue as JobQueue);
        return 'ok';
      } catch (error) {
        if (notHeld.has((error as { code?: unknown }).code)) return 'lost';
        throw error;
      }
    }) as Promise<JobOutcome>;

  return {
    async add(jobs) {
      for (const part of partsOf(jobs)) {
        const kinds = grouped(part, ({ id }) => kindOf(id));
        await queues.ask(
          kinds.map(([kind]) => kind),
          async (client, own) => {
            await Promise.all([
              client.sAdd(
                kindsKey,
                kinds.map(([kind]) => kind),
              ),
              ...kinds.flatMap(([, some], index) =>
                added(client, { queue: own[index] as JobQueue, jobs: some }),
              ),
            ]);
            tell(client);
          },
        );
      }
    },

    async cancel(ids) {
      for (const part of partsOf(ids)) {
        const kinds = grouped(part, kindOf);
        await queues.ask(
          kinds.map(([kind]) => kind),
          (client, own) =>
            Promise.all(
              own.map((queue, index) =>
                removed(client, { queue, ids: (kinds[index]?.[1] ?? []).map(encoded) }),
              ),
            ),
        );
      }
    },

    async claim(kind, { owner, limit, now, until }) {
      if (!(Number.isInteger(limit) && limit >= 1 && limit <= 1000)) {
        throw new RangeError(`${limit} is not a number of jobs to claim, 1..1000`);
      }
      const end = Date.now() + until - now;
      return queues.ask([kind], async (client, [queue]) => {
        const count = Math.min(limit, await ready(client, queue as JobQueue));
        // What it took to get here is no part of the lease; it is the caller's that must end first.
        const lease = Math.ceil(end - Date.now());
        if (count === 0 || lease <= 0) return [];
        const { operations } = queue as JobQueue;
        const bull = operations(lease);
        // All at once, so one trip; others may have been quicker, so some may get nothing.
        const moved = await Promise.all(Array.from({ length: count }, () => bull.moveToActive(owner)));
        see(queue as JobQueue, Date.now() + lease);
        const jobs: Job[] = [];
        for (const [json, id] of moved as [JobJson | null, string][]) {
          if (!json || !id) continue;
          const job = readJob({ kind, id, json });
          if (job) jobs.push(job);
          else await removed(client, { queue: queue as JobQueue, ids: [id] });
        }
        return jobs;
      });
    },

    async beat(owner, leases) {
      const now = Date.now();
      const groups = grouped(
        leases,
        ({ id, until }) => `${Math.max(1, Math.ceil(until - now))} ${kindOf(id)}`,
      );
      const lengths = groups.map(([name]) => Number.parseInt(name, 10));
      const kinds = groups.map(([, [first]]) => kindOf((first as { id: string }).id));
      if (groups.length === 0) return [];
      const refused = await queues.ask(kinds, (_, own) =>
        Promise.all(
          own.map((queue, index) => {
            const ids = (groups[index]?.[1] ?? []).map(({ id }) => encoded(id));
            const length = lengths[index] as number;
            see(queue, now + length);
            return queue.operations().extendLocks(
              ids,
              ids.map(() => owner),
              length,
            );
          }),
        ),
      );
      const lost = new Set(refused.flat().map(decoded));
      return leases.map(({ id }) => id).filter((id) => lost.has(id));
    },

    release(owner, { id, due, isUncounted = false }) {
      return held(id, async (client, { prefix: before, operations }) => {
        const name = encoded(id);
        // Nobody else changes it while the lease lasts, and without one the script below does nothing.
        const attempt = isUncounted ? Number(await client.hGet(before + name, 'ats')) : 0;
        const fieldsToUpdate = isUncounted ? { ats: Math.max(0, attempt - 1) } : undefined;
        await operations().moveToDelayed(name, timeOf(due), 0, owner, {
          skipAttempt: true,
          ...(fieldsToUpdate && { fieldsToUpdate }),
        });
        tell(client);
      });
    },

    finish(owner, id) {
      return held(id, async (client, { keys, operations }) => {
        const job = { id: encoded(id), opts: { attempts: 0 } } as MinimalJob;
        await operations().moveToCompleted(job, null, true, owner, false);
        // Should this get lost: `totals` forgets it.
        client.zRem(keys.added, encoded(id)).catch(() => {});
      });
    },

    async next(kinds, owner) {
      if (kinds.length === 0) return undefined;
      return queues.ask(kinds, async (client, own) => {
        const answer = await scripts.next.run(client, {
          keys: own.flatMap(({ keys }) => [keys.wait, keys.delayed, keys.active]),
          args: [owner, `${Date.now()}`, ...own.map(({ prefix: before }) => before)],
        });
        if (Number(answer) < 0) return undefined;
        for (const queue of own) see(queue, Number(answer));
        return Number(answer);
      });
    },

    async owners(node) {
      const kinds = await knownKinds();
      if (kinds.length === 0) return [];
      return queues.ask(kinds, async (client, own) => {
        const held = await Promise.all(own.map((queue) => lockOwners(client, queue)));
        return [...new Set(held.flat())].filter((owner) => nodeOf(owner) === node);
      });
    },

    async free(owners) {
      const kinds = await knownKinds();
      if (kinds.length === 0 || owners.length === 0) return 0;
      return queues.ask(kinds, async (client, own) => {
        const freed = await scripts.free.run(client, {
          keys: own.flatMap(({ keys }) => [keys.delayed, keys.active, keys.events]),
          args: [`${Date.now()}`, eventsKept, ...own.map(({ prefix: before }) => before), ...owners],
        });
        tell(client);
        return Number(freed);
      });
    },

    async totals() {
      const kinds = (await knownKinds()).sort();
      if (kinds.length === 0) return [];
      const numbers = await queues.ask(kinds, async (client, own) => {
        const answer = await scripts.totals.run(client, {
          keys: own.flatMap(({ keys }) => [keys.wait, keys.delayed, keys.active, keys.added]),
          args: [`${bullmqLimits.stale}`, ...own.map(({ prefix: before }) => before)],
        });
        return answer as number[];
      });
      return kinds
        .map((kind, index) => ({
          kind,
          count: Number(numbers[index * 2]),
          oldest: Number(numbers[index * 2 + 1]),
        }))
        .filter(({ count }) => count > 0)
        .map((one) => (one.oldest < 0 ? { ...one, oldest: Date.now() } : one));
    },

    subscribe(wake) {
      // Its own: the same function may be given twice.
      const own = () => wake();
      wakes.add(own);
      const end = channels.listen(channel, own);
      const timer = setInterval(own, bullmqLimits.look);
      timer.unref();
      return () => {
        wakes.delete(own);
        clearInterval(timer);
        end();
      };
    },

    async close() {
      wakes.clear();
      await Promise.all([channels.close(), connection.close()]);
    },
  };

  /** How many jobs can be claimed. */
  async function ready(client: RedisClient, queue: JobQueue): Promise<number> {
    const now = Date.now();
    const isLook = now >= queue.leasesSeenUntil;
    const { keys, prefix: before } = queue;
    const [count, ends] = (await scripts.ready.run(client, {
      keys: [keys.wait, keys.delayed, keys.active, keys.events],
      args: [before, `${now}`, eventsKept, isLook ? '1' : '0'],
    })) as [number, number];
    if (isLook) {
      queue.leasesSeenUntil = now + bullmqLimits.leases;
      if (ends >= 0) see(queue, now + ends);
    }
    return count;
  }

  /** @param options.ids encoded */
  function removed(client: RedisClient, options: { queue: JobQueue; ids: string[] }): Promise<unknown> {
    const { queue, ids } = options;
    const { keys } = queue;
    return scripts.cancel.run(client, {
      keys: [keys.wait, keys.delayed, keys.active, keys.added, keys.events],
      args: [queue.prefix, eventsKept, ...ids],
    });
  }

  function readJob({ kind, id, json }: { kind: string; id: string; json: JobJson }): Job | undefined {
    try {
      const { actor, child, input, addedAt } = JSON.parse(json.data) as Stored;
      return { id: decoded(id), kind, actor, child, input, addedAt, attempt: json.attemptsStarted };
    } catch (error) {
      log.error('a job that nobody here can have added is removed', { kind, job: id, error });
      return undefined;
    }
  }
}

/** What BullMQ keeps as the data of a job. */
type Stored = Pick<QueuedJob, 'actor' | 'child' | 'input' | 'addedAt'>;

/** BullMQ's answers when a lock is not that of the caller: no such job, no lock, not active, another's lock. */
const notHeld: ReadonlySet<unknown> = new Set([-1, -2, -3, -6]);
const eventsKept = String(bullmqLimits.events);

function scriptsOf(change?: ScriptChange) {
  const script = (name: string) => redisScript(new URL(`${name}.lua`, import.meta.url), change);
  return {
    ready: script('ready'),
    next: script('next'),
    free: script('free'),
    cancel: script('cancel'),
    totals: script('totals'),
  };
}

/** Who holds the leases of a queue; jobs whose lease has ended are nobody's. */
async function lockOwners(client: RedisClient, { prefix, keys }: JobQueue): Promise<string[]> {
  const active = await client.lRange(keys.active, 0, -1);
  if (active.length === 0) return [];
  const locks = await client.mGet(active.map((id) => `${prefix}${id}:lock`));
  return locks.filter((owner) => owner !== null);
}

function nodeOf(owner: string): string {
  return owner.slice(0, owner.lastIndexOf('/'));
}

/** The leases are looked at again at this time, if not before. */
function see(queue: JobQueue, at: number): void {
  queue.leasesSeenUntil = Math.min(queue.leasesSeenUntil, at);
}

/** Every job begins as a delayed one, also when its time has come: those are claimed in the order of their times. */
function added(
  client: RedisClient,
  { queue, jobs }: { queue: JobQueue; jobs: QueuedJob[] },
): Promise<unknown>[] {
  const { keys, kind, operations } = queue;
  const bull = operations();
  const names = jobs.map(({ id, addedAt }) => ({ value: encoded(id), score: addedAt }));
  return [
    client.hSet(keys.meta, 'opts.maxLenEvents', eventsKept),
    client.zAdd(keys.added, names, { condition: 'NX' }),
    ...jobs.map(({ id, child, actor, input, addedAt, due }) => {
      const at = timeOf(due);
      const timestamp = Math.min(addedAt, at - 1);
      const data = JSON.stringify({ actor, child, input, addedAt } satisfies Stored);
      const opts = { delay: at - timestamp, attempts: 0 };
      const name = encoded(id);
      return bull.addJob({ id: name, name: kind, data, opts, timestamp } as JobJson, name);
    }),
  ];
}

/** As BullMQ counts time: whole milliseconds, not before the second. */
function timeOf(due: number): number {
  return Math.max(2, Math.ceil(due));
}

function partsOf<Item>(items: readonly Item[]): Item[][] {
  const size = bullmqLimits.added;
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, index) => items.slice(index * size, (index + 1) * size));
}
