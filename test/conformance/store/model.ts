import { Fault } from '../../../core/base/fault.ts';
import type { Jobs } from '../../../core/ports/jobs.ts';
import type {
  BatchOutcome,
  BatchStep,
  CommitOutcome,
  EventWrite,
  Filter,
  FilterCondition,
  ListQuery,
  ListScope,
  LoggedEvent,
  Order,
  ResourceWrite,
  StepBatch,
  StepCommit,
  Store,
  StoredActor,
  StoredResource,
  StoredTimer,
} from '../../../core/ports/store.ts';
import { modelJobs } from '../jobs/model.ts';

type ModelRow = StoredResource & { kind: string; indexes: Readonly<Record<string, string>> };

/** The port in the plainest words there are: what a driver's answers are compared with. Nothing here is fast. */
export function modelStore(): Store & { readonly jobs: Jobs } {
  let partitions: { partition: number; epoch: number; counter: number; offset: number }[] = [];
  let boundTo: string | undefined;
  const actors = new Map<string, StoredActor>();
  const ended = new Map<string, number>();
  const causes = new Map<string, { at: number }>();
  let timers: (StoredTimer & { partition: number })[] = [];
  let rows: ModelRow[] = [];
  let log: LoggedEvent[] = [];
  let position = 0;
  const cursors = new Map<string, number>();
  let orders: (Order & { partition: number })[] = [];
  const work = modelJobs();

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

  /** Why the step cannot be taken; undefined when it can. */
  const refusal = (step: BatchStep, isUnique: boolean): 'duplicate' | 'lost' | 'conflict' | undefined => {
    if (!isUnique && !step.finish && causes.has(step.cause)) return 'duplicate';
    if (!work.canFinish(step)) return 'lost';
    const sequence = actors.get(step.actor)?.sequence ?? 0;
    return sequence !== step.sequence || ended.has(step.actor) ? 'conflict' : undefined;
  };

  const take = (step: BatchStep, { partition, isUnique }: { partition: number; isUnique: boolean }) => {
    if (!isUnique && !step.finish) causes.set(step.cause, { at: step.at });
    if (step.state === null) {
      actors.delete(step.actor);
      ended.set(step.actor, step.at);
      timers = timers.filter((timer) => timer.actor !== step.actor);
    } else {
      actors.set(step.actor, { state: step.state, version: step.version, sequence: step.sequence + 1 });
      for (const { name, due } of step.timers) {
        timers = timers.filter((timer) => timer.actor !== step.actor || timer.name !== name);
        if (due !== null) timers.push({ actor: step.actor, name, due, partition });
      }
    }
    for (const row of step.rows) put(row);
    for (const order of step.orders) {
      if (!orders.some((one) => one.id === order.id)) orders.push({ ...order, partition });
    }
    work.write(step);
    return append(step.events, step.at);
  };

  const commit = (step: StepCommit): CommitOutcome => {
    const { partition, epoch, counter } = step;
    const owned = partitions.find((one) => one.partition === partition);
    if (owned?.epoch !== epoch) return { outcome: 'fenced' };
    const isUnique = counter !== undefined;
    const why = refusal(step, isUnique);
    if (why) return { outcome: why };
    if (counter !== undefined) owned.counter = Math.max(owned.counter, counter);
    return { outcome: 'ok', events: take(step, { partition, isUnique }) };
  };

  const commitAll = ({ partition, epoch, from, to, steps }: StepBatch): BatchOutcome => {
    const owned = partitions.find((one) => one.partition === partition);
    if (owned?.epoch !== epoch) return { outcome: 'fenced' };
    const { offset } = owned;
    if (offset !== from)
      return from < to && offset >= to ? { outcome: 'duplicate' } : { outcome: 'gap', offset };
    const kept = save();
    const events: number[] = [];
    for (const [index, step] of steps.entries()) {
      const isUnique = step.isLogged === true;
      const why = refusal(step, isUnique);
      if (why) {
        kept();
        return { outcome: 'refused', step: index, why };
      }
      events.push(...take(step, { partition, isUnique }));
    }
    owned.offset = to;
    return { outcome: 'ok', events };
  };

  /** Returns what undoes all that was done since. */
  const save = () => {
    const undoJobs = work.save();
    const maps = [actors, ended, causes].map(
      (map) => [map as Map<string, unknown>, new Map(map as Map<string, unknown>)] as const,
    );
    const before = { timers, rows, log: [...log], position, orders: [...orders] };
    return () => {
      undoJobs();
      for (const [map, old] of maps) {
        map.clear();
        for (const [name, value] of old) map.set(name, value);
      }
      ({ timers, rows, log, position, orders } = before);
    };
  };

  const present = ({ id, account, createdAt, name, body, revision }: ModelRow): StoredResource => ({
    ...{ id, account, createdAt, name, body, revision },
  });

  const within = (kind: string, { account, where = {}, filters = [] }: ListScope) =>
    rows
      .filter((row) => row.kind === kind && (account === undefined || row.account === account))
      .filter((row) => Object.entries(where).every(([index, value]) => row.indexes[index] === value))
      .filter((row) => filters.every((filter) => isAs(filter, JSON.parse(row.body))));

  const list: Store['resources']['list'] = async (kind, query) => {
    if (!(query.limit >= 1 && query.limit <= 1001 && Number.isInteger(query.limit)))
      throw new RangeError('limit');
    const compare = comparison(query);
    const { after } = query;
    return within(kind, query)
      .filter((row) => !after || compare(row, { name: '', ...after }) > 0)
      .sort(compare)
      .slice(0, query.limit)
      .map(present);
  };

  return {
    async acquire(count, options = {}) {
      if (partitions.length > 0 && partitions.length !== count) {
        throw new Fault('store.partitions', { status: 500, message: 'another partition count' });
      }
      boundTo ??= options.log;
      if (options.log !== undefined && options.log !== boundTo) {
        throw new Fault('store.log', { status: 500, message: `filled from ${boundTo}, not ${options.log}` });
      }
      if (partitions.length === 0) {
        const none = { epoch: 0, counter: 0, offset: -1 };
        partitions = Array.from({ length: count }, (_, partition) => ({ partition, ...none }));
      }
      const wanted = partitions.filter((one) => options.partitions?.includes(one.partition) ?? true);
      for (const one of wanted) one.epoch += 1;
      return wanted.map((one) => ({ ...one }));
    },
    isConsumed: async (cause) => causes.has(cause),
    load: async (actor) => actors.get(actor),
    async loadAll(some, named) {
      return {
        actors: new Map(
          some.flatMap((actor): [string, StoredActor | null][] => {
            const stored = actors.get(actor) ?? (ended.has(actor) ? null : undefined);
            return stored === undefined ? [] : [[actor, stored]];
          }),
        ),
        consumed: new Set(named.filter((cause) => causes.has(cause))),
      };
    },
    commit: async (step) => commit(step),
    commitAll: async (batch) => commitAll(batch),
    async write(write) {
      if (write.isOnce && write.events.some(({ id }) => log.some((one) => one.id === id))) {
        return { outcome: 'duplicate' };
      }
      if (write.rows.some((row) => (get(row.kind, row.id)?.revision ?? 0) !== row.revision)) {
        return { outcome: 'conflict' };
      }
      for (const row of write.rows) put(row);
      return { outcome: 'ok', events: append(write.events, write.at) };
    },
    timers: async (some) =>
      timers
        .filter(({ partition }) => some?.includes(partition) ?? true)
        .toSorted((one, other) => one.due - other.due || (key(one) < key(other) ? -1 : 1))
        .map(({ partition: _, ...timer }) => timer),
    orders: async (some) =>
      orders
        .filter(({ partition }) => some?.includes(partition) ?? true)
        .map(({ partition: _, ...order }) => order),
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
      count: async (kind, scope) => within(kind, scope).length,
    },
    events: {
      async after(from, { account, limit }) {
        checkLimit(limit);
        return log
          .filter((event) => event.position > from && (account === undefined || event.account === account))
          .slice(0, limit);
      },
      async before(from, { account, limit }) {
        checkLimit(limit);
        return log
          .filter((event) => event.position < from && (account === undefined || event.account === account))
          .reverse()
          .slice(0, limit);
      },
      position: async (id) => log.find((event) => event.id === id)?.position,
      last: async () => position,
      cursor: async (consumer) => cursors.get(consumer) ?? 0,
      async advance(consumer, to) {
        cursors.set(consumer, to);
      },
    },
    async sweep(before, upTo = position) {
      log = log.filter((event) => event.at >= before || event.position > upTo);
      for (const [cause, { at }] of causes) if (at < before) causes.delete(cause);
      for (const [actor, at] of ended) if (at < before) ended.delete(actor);
    },
    jobs: work.jobs,
    close: async () => {},
  };
}

function key(timer: StoredTimer): string {
  return `${timer.actor} ${timer.name}`;
}

function checkLimit(limit: number): void {
  if (!(limit >= 1 && limit <= 1000 && Number.isInteger(limit))) throw new RangeError('limit');
}

type Placed = { createdAt: number; id: string; name: string };

/** Less than zero when the first of two comes first. */
function comparison({ order = [], likeName }: ListQuery): (one: Placed, other: Placed) => number {
  const by: Record<string, (one: Placed, other: Placed) => number> = {
    createdAt: (one, other) => one.createdAt - other.createdAt,
    name: (one, other) => Buffer.compare(Buffer.from(one.name), Buffer.from(other.name)),
    id: (one, other) => Buffer.compare(Buffer.from(one.id), Buffer.from(other.id)),
  };
  const descending = order.at(-1)?.descending ?? true;
  const terms = [...order, { by: 'createdAt', descending }, { by: 'id', descending }];
  return (one, other) => {
    const ranks = likeName === undefined ? 0 : likeness(one.name, likeName) - likeness(other.name, likeName);
    if (ranks !== 0) return ranks;
    for (const term of terms) {
      const difference = by[term.by]?.(one, other) ?? 0;
      if (difference !== 0) return term.descending ? -difference : difference;
    }
    return 0;
  };
}

function likeness(name: string, text: string): number {
  const [a, b] = [name.toLowerCase(), text.toLowerCase()];
  return a === b ? 0 : a.startsWith(b) ? 1 : a.includes(b) ? 2 : 3;
}

function isAs({ path, absent, is }: Filter, document: unknown): boolean {
  let value = document as Record<string, unknown> | undefined;
  for (const name of path) {
    value = (Object.hasOwn(value ?? {}, name) ? value?.[name] : undefined) as typeof value;
  }
  return isSo(is, value ?? absent);
}

function isSo(is: FilterCondition, value: unknown): boolean {
  if ('contains' in is) {
    return typeof value === 'string' && value.toLowerCase().includes(is.contains.toLowerCase());
  }
  if ('equals' in is) return value === is.equals;
  if (typeof value !== 'number') return false;
  const { gt = -Infinity, gte = -Infinity, lt = Infinity, lte = Infinity } = is;
  return value > gt && value >= gte && value < lt && value <= lte;
}
