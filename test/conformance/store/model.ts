import { Fault } from '../../../core/base/fault.ts';
import type { Jobs } from '../../../core/ports/jobs.ts';
import type {
  CommitOutcome,
  Consumed,
  EventWrite,
  Filter,
  FilterCondition,
  ListQuery,
  ListScope,
  LoggedEvent,
  Order,
  ResourceWrite,
  StepCommit,
  Store,
  StoredActor,
  StoredResource,
  StoredTimer,
} from '../../../core/ports/store.ts';
import { modelJobs } from '../jobs/model.ts';

type ModelRow = StoredResource & { kind: string; indexes: Readonly<Record<string, string>> };

/** The port in the plainest words there are: what a driver's answers are compared with. Nothing here is fast. */
export function modelStore(options: Parameters<typeof modelJobs>[0] = {}): Store & { readonly jobs: Jobs } {
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
  const work = modelJobs(options);

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
    const problem = step.consumed && misplaced(owned.offset, step.consumed);
    if (problem) return problem;
    const isUnique = step.counter !== undefined || step.finish !== undefined || step.consumed?.isCause;
    const consumed = isUnique ? undefined : causes.get(step.cause);
    if (consumed) {
      if (step.consumed) owned.offset = step.consumed.to;
      return { outcome: 'duplicate' };
    }
    if (!work.canFinish(step)) return { outcome: 'lost' };
    const sequence = actors.get(step.actor)?.sequence ?? 0;
    if (sequence !== step.sequence || ended.has(step.actor)) return { outcome: 'conflict' };

    if (!isUnique) causes.set(step.cause, { at: step.at });
    if (step.consumed) owned.offset = step.consumed.to;
    if (step.counter !== undefined) owned.counter = Math.max(owned.counter, step.counter);
    if (step.state === null) {
      actors.delete(step.actor);
      ended.set(step.actor, step.at);
      timers = timers.filter((timer) => timer.actor !== step.actor);
    } else {
      actors.set(step.actor, { state: step.state, version: step.version, sequence: sequence + 1 });
      for (const { name, due } of step.timers) {
        timers = timers.filter((timer) => timer.actor !== step.actor || timer.name !== name);
        if (due !== null) timers.push({ actor: step.actor, name, due, partition: step.partition });
      }
    }
    for (const row of step.rows) put(row);
    for (const order of step.orders) {
      if (!orders.some((one) => one.id === order.id)) orders.push({ ...order, partition: step.partition });
    }
    work.write(step);
    const events = append(step.events, step.at);
    return { outcome: 'ok', events };
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
    async consume({ partition, epoch, ...place }) {
      const owned = partitions.find((one) => one.partition === partition);
      if (owned?.epoch !== epoch) return { outcome: 'fenced' };
      const problem = misplaced(owned.offset, place);
      if (problem) return problem;
      owned.offset = place.to;
      return { outcome: 'ok', events: [] };
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
    jobs: work.jobs,
    close: async () => {},
  };
}

function misplaced(offset: number, { from, to }: Consumed): CommitOutcome | undefined {
  if (offset === from) return undefined;
  return from < to && offset >= to ? { outcome: 'duplicate' } : { outcome: 'gap', offset };
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
