import { Fault } from '../../../core/fault.ts';
import type {
  CommitOutcome,
  EventWrite,
  LoggedEvent,
  Order,
  ResourceWrite,
  StepCommit,
  Store,
  StoredActor,
  StoredResource,
  StoredTimer,
} from '../../../core/ports/store.ts';

type ModelRow = StoredResource & { kind: string; indexes: Readonly<Record<string, string>> };

/** The port in the plainest words there are: what a driver's answers are compared with. Nothing here is fast. */
export function modelStore(): Store {
  let partitions: { partition: number; epoch: number; counter: number }[] = [];
  const actors = new Map<string, StoredActor>();
  const ended = new Map<string, number>();
  const causes = new Map<string, { at: number; reply: string | undefined }>();
  let timers: StoredTimer[] = [];
  let rows: ModelRow[] = [];
  let log: LoggedEvent[] = [];
  let position = 0;
  const cursors = new Map<string, number>();
  let orders: Order[] = [];

  const get = (kind: string, id: string) => rows.find((row) => row.kind === kind && row.id === id);

  const put = (row: ResourceWrite) => {
    const revision = (get(row.kind, row.id)?.revision ?? 0) + 1;
    rows = rows.filter((other) => other.kind !== row.kind || other.id !== row.id);
    if (row.body !== null) rows.push({ ...row, body: row.body, revision });
  };

  const append = (events: readonly EventWrite[], at: number) =>
    events.map((event) => {
      log.push({ ...event, position: ++position, at });
      return position;
    });

  const commit = (step: StepCommit): CommitOutcome => {
    const owned = partitions.find((one) => one.partition === step.partition);
    if (owned?.epoch !== step.epoch) return { outcome: 'fenced' };
    const consumed = causes.get(step.cause);
    if (consumed) {
      return { outcome: 'duplicate', ...(consumed.reply !== undefined && { reply: consumed.reply }) };
    }
    const sequence = actors.get(step.actor)?.sequence ?? 0;
    if (sequence !== step.sequence || ended.has(step.actor)) return { outcome: 'conflict' };

    if (step.counter === undefined) causes.set(step.cause, { at: step.at, reply: step.reply });
    else owned.counter = Math.max(owned.counter, step.counter);
    if (step.state === null) {
      actors.delete(step.actor);
      ended.set(step.actor, step.at);
      timers = timers.filter((timer) => timer.actor !== step.actor);
    } else {
      actors.set(step.actor, { state: step.state, version: step.version, sequence: sequence + 1 });
      for (const { name, due } of step.timers) {
        timers = timers.filter((timer) => timer.actor !== step.actor || timer.name !== name);
        if (due !== null) timers.push({ actor: step.actor, name, due });
      }
    }
    for (const row of step.rows) put(row);
    for (const order of step.orders) if (!orders.some((one) => one.id === order.id)) orders.push(order);
    return { outcome: 'ok', events: append(step.events, step.at) };
  };

  const newestFirst = (one: StoredResource, other: StoredResource) =>
    other.createdAt - one.createdAt || (one.id < other.id ? 1 : -1);

  const present = ({ id, account, createdAt, name, body, revision }: ModelRow): StoredResource => ({
    ...{ id, account, createdAt, name, body, revision },
  });

  const list: Store['resources']['list'] = async (kind, { account, where = {}, after, limit }) => {
    checkLimit(limit);
    return rows
      .filter((row) => row.kind === kind && (account === undefined || row.account === account))
      .filter((row) => Object.entries(where).every(([index, value]) => row.indexes[index] === value))
      .filter((row) => !after || newestFirst(row, { ...row, ...after }) > 0)
      .filter((row) => !after || row.createdAt !== after.createdAt || row.id !== after.id)
      .sort(newestFirst)
      .slice(0, limit)
      .map(present);
  };

  return {
    async acquire(count) {
      if (partitions.length > 0 && partitions.length !== count) {
        throw new Fault('store.partitions', { status: 500, message: 'another partition count' });
      }
      partitions = Array.from({ length: count }, (_, partition) => ({
        partition,
        epoch: (partitions[partition]?.epoch ?? 0) + 1,
        counter: partitions[partition]?.counter ?? 0,
      }));
      return partitions.map((one) => ({ ...one }));
    },
    isConsumed: async (cause) => causes.has(cause),
    load: async (actor) => actors.get(actor),
    commit: async (step) => commit(step),
    async write(write) {
      if (write.rows.some((row) => (get(row.kind, row.id)?.revision ?? 0) !== row.revision)) {
        return { outcome: 'conflict' };
      }
      for (const row of write.rows) put(row);
      return { outcome: 'ok', events: append(write.events, write.at) };
    },
    timers: async () =>
      timers.toSorted((one, other) => one.due - other.due || (key(one) < key(other) ? -1 : 1)),
    orders: async () => [...orders],
    async acknowledge(ids) {
      orders = orders.filter((order) => !ids.includes(order.id));
    },
    resources: {
      async get(kind, id) {
        const row = get(kind, id);
        return row && present(row);
      },
      find: async (kind, index, value) => (await list(kind, { where: { [index]: value }, limit: 1 }))[0],
      list,
    },
    events: {
      async after(from, { account, limit }) {
        checkLimit(limit);
        return log
          .filter((event) => event.position > from && (account === undefined || event.account === account))
          .slice(0, limit);
      },
      position: async (id) => log.find((event) => event.id === id)?.position,
      last: async () => position,
      cursor: async (consumer) => cursors.get(consumer) ?? 0,
      async advance(consumer, to) {
        cursors.set(consumer, to);
      },
    },
    async sweep(before) {
      log = log.filter((event) => event.at >= before);
      for (const [cause, { at }] of causes) if (at < before) causes.delete(cause);
      for (const [actor, at] of ended) if (at < before) ended.delete(actor);
    },
    close: async () => {},
  };
}

function key(timer: StoredTimer): string {
  return `${timer.actor} ${timer.name}`;
}

function checkLimit(limit: number): void {
  if (!(limit >= 1 && limit <= 1000 && Number.isInteger(limit))) throw new RangeError('limit');
}
