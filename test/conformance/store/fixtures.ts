import type {
  BatchStep,
  CommitOutcome,
  EventWrite,
  Lease,
  ResourceCommit,
  ResourceWrite,
  StepBatch,
  StepCommit,
  Store,
} from '../../../core/ports/store.ts';
import type { OpenedStore } from './check.ts';

export const start = 1_750_000_000_000;

/** A step of actor `a/1` that would succeed as its first, with what the test cares about on top. */
export function step(lease: Lease, parts: Partial<StepCommit> = {}): StepCommit {
  return {
    partition: lease.partition,
    epoch: lease.epoch,
    actor: 'a/1',
    cause: `cause-${++causes}`,
    at: start,
    sequence: 0,
    state: '{"value":"on"}',
    version: 1,
    rows: [],
    timers: [],
    events: [],
    orders: [],
    jobs: [],
    cancels: [],
    ...parts,
  };
}

/** A batch of such steps. */
export function batch(
  lease: Lease,
  { from, to, steps = [] }: { from: number; to: number; steps?: readonly Partial<BatchStep>[] },
): StepBatch {
  const { partition, epoch } = lease;
  return { partition, epoch, from, to, steps: steps.map((parts) => step(lease, parts)) };
}

export function row(parts: Partial<ResourceWrite> = {}): ResourceWrite {
  return {
    kind: 'stream',
    id: 's1',
    account: 'main',
    createdAt: start,
    name: 'a name',
    body: '{"n":1}',
    indexes: {},
    ...parts,
  };
}

export function event(id: string, parts: Partial<EventWrite> = {}): EventWrite {
  return { id, type: 'stream.started', account: 'main', stream: 's1', body: `{"id":"${id}"}`, ...parts };
}

export function write(parts: Partial<ResourceCommit>): ResourceCommit {
  return { at: start, rows: [], events: [], ...parts };
}

/** Creates plain resources. */
export async function create(store: Store, rows: readonly ResourceWrite[]): Promise<CommitOutcome> {
  return store.write(write({ rows: rows.map((one) => ({ ...one, revision: 0 })) }));
}

export async function acquireOne(store: Store): Promise<Lease> {
  const [lease] = await store.acquire(1);
  if (!lease) throw new Error('acquire gave no lease');
  return lease;
}

/** The store as it is, then as it is after a restart. */
export async function* bothLives(opened: Pick<OpenedStore, 'store' | 'reopen'>): AsyncGenerator<Store> {
  yield opened.store;
  yield await opened.reopen();
}

/** Everything the port lets one see. Two stores with equal views hold the same data. */
export async function view(
  store: Store,
  {
    names,
    partitions,
  }: { names: { actors: string[]; kinds: string[]; consumers: string[] }; partitions: number },
) {
  const all = Array.from({ length: partitions }, (_, partition) => [partition]);
  const actors = await Promise.all(names.actors.map((actor) => store.load(actor)));
  const rows = await Promise.all(names.kinds.map((kind) => store.resources.list(kind, { limit: 1000 })));
  const cursors = await Promise.all(names.consumers.map((consumer) => store.events.cursor(consumer)));
  const events = await store.events.after(0, { limit: 1000 });
  const positions = await Promise.all(events.map((one) => store.events.position(one.id)));
  return {
    actors,
    rows,
    cursors,
    events,
    positions,
    last: await store.events.last(),
    timers: await store.timers(),
    timersOf: await Promise.all(all.map((one) => store.timers(one))),
    // Oldest first in each partition.
    orders: await Promise.all(all.map((one) => store.orders(one))),
  };
}

let causes = 0;
