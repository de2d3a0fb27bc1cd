import { Fault } from '../../core/base/fault.ts';
import type { Log } from '../../core/base/log.ts';
import type { Bus } from '../../core/ports/bus.ts';
import type { QueuedJobs } from '../../core/ports/jobs.ts';
import type { OutboxEntry } from '../../core/ports/store.ts';
import { clusterLimits } from './limits.ts';

export type HandedOn = Omit<OutboxEntry, 'number' | 'partition'>;

/**
 * What commits left for other engines: events to whoever reads along, jobs to their queue. In order, at least once;
 * those that get it know a repeat by its id. An event that the bus will never take is buried, and the rest goes on.
 */
export async function handOn(entries: readonly HandedOn[], options: HandOnOptions): Promise<void> {
  const { queue } = options;
  await Promise.all([publish(entries, options), queue && enqueue(entries, queue)]);
}

export interface HandOnOptions {
  readonly bus: Pick<Bus, 'publish' | 'bury'>;
  readonly queue: Pick<QueuedJobs, 'add' | 'cancel'> | undefined;
  readonly log: Log;
  /** An event that the bus refuses for good is no longer waited for. */
  onBuried(): void;
}

interface Outgoing {
  readonly key: string;
  readonly value: string;
  /** Of the event. */
  readonly id: string;
  readonly type: string;
  readonly account: string;
  readonly at: number;
}

async function publish(entries: readonly HandedOn[], options: HandOnOptions): Promise<void> {
  const records = entries.flatMap(({ events, cause, epoch, at }) =>
    // Those of no account are for plugins alone.
    events
      .filter(({ account }) => account !== '')
      .map(({ id, type, account, stream, body }): Outgoing => {
        const value = withMore(body, { cause, epoch });
        return { key: stream || id, value, id, type, account, at };
      }),
  );
  for (let from = 0; from < records.length; from += clusterLimits.published) {
    const some = records.slice(from, from + clusterLimits.published);
    try {
      await options.bus.publish(some);
    } catch (error) {
      if (!isForGood(error)) throw error;
      // One of them is to blame, which is not told.
      for (const record of some) await publishAlone(record, options);
    }
  }
}

/** The same object with these fields at its end. A body is a JSON object that the composer of the step wrote. */
function withMore(body: string, more: { cause: string; epoch: number }): string {
  const fields = JSON.stringify(more);
  return body.startsWith('{"') && body.endsWith('}')
    ? `${body.slice(0, -1)},${fields.slice(1)}`
    : JSON.stringify({ ...(JSON.parse(body) as object), ...more });
}

async function publishAlone(record: Outgoing, { bus, log, onBuried }: HandOnOptions): Promise<void> {
  try {
    await bus.publish([record]);
  } catch (error) {
    if (!isForGood(error)) throw error;
    const { id, type, account, at, value } = record;
    const reason = error instanceof Error ? error.message : String(error);
    log.error('an event is buried: the bus will never take it', { id, type, account, reason });
    // What it is, not all of it: that is what was refused. The event log of the store has it, for as long as it has any.
    const bytes = Buffer.byteLength(value);
    const note = { id: id.slice(0, idShown), event: type, account, bytes };
    await bus.bury({ partition: -1, offset: -1, at, key: 'event', value: JSON.stringify(note) }, reason);
    onBuried();
  }
}

/** Another attempt would end alike. */
function isForGood(error: unknown): boolean {
  return error instanceof RangeError || (error instanceof Fault && error.status === 413);
}

async function enqueue(
  entries: readonly HandedOn[],
  queue: Pick<QueuedJobs, 'add' | 'cancel'>,
): Promise<void> {
  const jobs = entries.flatMap(({ jobs, actor, at }) =>
    jobs.map(({ id, kind, child, input, due }) => ({ id, kind, child, input, due, actor, addedAt: at })),
  );
  const cancels = entries.flatMap((entry) => entry.cancels);
  if (jobs.length > 0) await queue.add(jobs);
  // After the adding: a job may be cancelled by a step that came soon after its own, never begun again by one.
  if (cancels.length > 0) await queue.cancel(cancels);
}

const { idShown } = clusterLimits;
