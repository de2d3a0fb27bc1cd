import type {
  Filter,
  FilterCondition,
  Lease,
  ListQuery,
  ResourceWrite,
  StepCommit,
  Store,
} from '../../../core/ports/store.ts';
import { event, row, start, step, write } from './fixtures.ts';

export interface Call {
  readonly text: string;
  make(store: Store): Promise<unknown>;
  /** For a commit: where it would leave its actor. */
  readonly moves?: readonly { readonly actor: string; readonly sequence: number }[];
  readonly partition?: number;
  readonly leases?: true;
}

export interface Generator {
  readonly partitions: number;
  readonly names: { actors: string[]; kinds: string[]; consumers: string[] };
  /** Calls to make at once. */
  batch(): Call[];
  /** Tells it an answer, so that later calls often fit. */
  learn(call: Call, answer: unknown): void;
}

/** Calls that hit each other: few actors, rows, causes and orders, and guesses that are often right. */
export function generator(seed: number): Generator {
  const random = mulberry(seed);
  /** Of their own, so that the other calls of a seed stay what they were. */
  const repeats = mulberry(seed + 1000);
  const below = (bound: number) => Math.floor(random() * bound);
  const chance = (share: number) => random() < share;
  const pick = <Value>(values: readonly Value[]): Value => values[below(values.length)] as Value;
  const some = <Value>(bound: number, make: () => Value) => Array.from({ length: below(bound) }, make);

  const partitions = 2;
  const names = {
    actors: ['a/1', 'a/2', 'a/3', 'a/4', 'b/1', 'b/2', 'b/3', 'c/1'],
    kinds: ['stream', 'asset'],
    consumers: ['webhooks', 'audit'],
  };
  let leases: Lease[] = [];
  let time = start;
  let events = 0;
  let direct = 0;
  /** Where the log of each partition is consumed up to, as far as we know. */
  let offsets: number[] = [];
  const known = new Map<string, number>();
  let guesses = new Map<string, number>();

  const anyBody = () =>
    JSON.stringify({
      n: below(1000),
      size: below(4),
      ...(chance(0.7) && { isOn: chance(0.5) }),
      ...(chance(0.7) && { inner: { text: pick(['Red', 'green', 'Blue']) } }),
    });
  const anyFilter = () =>
    pick<Filter>([
      { path: ['size'], is: pick<FilterCondition>([{ gte: 2, lte: 2 }, { gt: 0, lt: 3 }, { gte: 1 }]) },
      { path: ['isOn'], absent: pick([true, undefined]), is: { equals: chance(0.5) } },
      { path: ['inner', 'text'], is: { contains: pick(['RE', 'e', 'blue']) } },
    ]);
  const anySorting = (): Pick<ListQuery, 'order' | 'likeName'> => {
    if (chance(0.3)) return {};
    if (chance(0.3)) return { likeName: pick(['ann', 'A', 'o', 'é']) };
    const terms = (['createdAt', 'name', 'id'] as const).filter(() => chance(0.5));
    return { order: terms.map((by) => ({ by, descending: chance(0.5) })) };
  };

  /** Ids of one home each: a row is written by one partition, or by none. */
  const anyId = (home: string) => `${home}r${below(3)}`;
  const homes = ['p', '0', '1'];
  const anyRow = (home: string): ResourceWrite =>
    row({
      kind: pick(names.kinds),
      id: anyId(home),
      account: pick(['main', 'other']),
      createdAt: start + below(4),
      name: pick(['Ann', 'ann', 'Anna', 'Joanna', 'Bob', 'é', '\u{1F3A5}', '\uffee']),
      body: chance(0.15) ? null : anyBody(),
      indexes: {
        ...(chance(0.7) && { tag: pick(['x', 'y']) }),
        ...(chance(0.5) && { state: pick(['on', 'off']) }),
        ...(chance(0.3) && { key: pick(['k1', 'k2', 'k3']) }),
      },
    });
  const anyEvent = () =>
    event(`e${++events}`, { account: pick(['main', 'other']), stream: pick(['', 's1']) });
  const anyOrder = (partition: number) => ({
    ...{ id: `${partition}o${below(6)}`, type: 'close', body: `{"n":${below(100)}}` },
  });
  const anyLease = (): Lease =>
    leases[below(partitions)] ?? { partition: 0, epoch: 1, counter: 0, offset: -1 };
  /** Mostly goes on from where the log is; now and then from elsewhere, or again over what was consumed. */
  const anyConsumed = (partition: number) => {
    const offset = offsets[partition] ?? -1;
    const from = chance(0.85) ? offset : Math.max(-1, offset + below(5) - 2);
    const consumed = { from, to: from + below(3) };
    if (from === offset) offsets[partition] = consumed.to;
    return consumed;
  };

  const anyCommit = (
    partition: number,
  ): { commit: StepCommit; moves: NonNullable<Call['moves']>[number] } => {
    const own = names.actors.filter((actor) => actor.charCodeAt(0) % partitions === partition);
    const actor = pick(own);
    const lease = leases[partition] ?? anyLease();
    const home = String(lease.partition);
    const guess = guesses.get(actor) ?? 0;
    const sequence = chance(0.9) ? guess : Math.max(0, guess + below(3) - 1);
    const isEnd = chance(0.08);
    const commit: StepCommit = step(lease, {
      epoch: chance(0.95) ? lease.epoch : lease.epoch - 1,
      actor,
      at: time,
      sequence,
      state: isEnd ? null : `{"n":${below(1000)}}`,
      version: 1 + below(2),
      cause: chance(0.15) ? `again-${home}-${below(4)}` : `${actor}-${time}-${below(1e9)}`,
      rows: some(3, () => anyRow(home)),
      timers: some(3, () => ({ name: pick(['t', 'u']), due: chance(0.3) ? null : time + below(50) })),
      events: some(3, anyEvent),
      orders: some(2, () => anyOrder(lease.partition)),
    });
    // A guess only: the commit may be refused, and then those for the same actor in this batch are, too.
    const moves = { actor, sequence: isEnd ? 0 : sequence + 1 };
    guesses.set(actor, moves.sequence);
    return { commit, moves };
  };

  const anyStep = (): Call => {
    const { commit, moves } = anyCommit(below(partitions));
    const numbered = chance(0.3) && { cause: `d${commit.partition}.${++direct}`, counter: direct - below(3) };
    const whole = { ...commit, ...numbered };
    return { moves: [moves], text: `commit ${JSON.stringify(whole)}`, make: (store) => store.commit(whole) };
  };

  const anyBatch = (): Call => {
    const partition = below(partitions);
    const all = some(5, () => anyCommit(partition));
    const { epoch } = all[0]?.commit ?? anyLease();
    const steps = all.map(({ commit }) => ({ ...commit, ...(chance(0.4) && { isLogged: true }) }));
    const whole = { partition, epoch, ...anyConsumed(partition), steps };
    return {
      ...{ partition, moves: all.map(({ moves }) => moves), text: `batch ${JSON.stringify(whole)}` },
      make: (store) => store.commitAll(whole),
    };
  };

  const anyWrite = (): Call => {
    const rows = some(3, () => ({ ...anyRow('p'), revision: below(4) }));
    const seen = new Set<string>();
    const distinct = rows.filter(({ kind, id }) => !seen.has(`${kind}/${id}`) && seen.add(`${kind}/${id}`));
    const fresh = some(2, anyEvent);
    // An event of an earlier call, written or refused, comes again only where a repeat is looked for.
    const isOnce = events > 0 && repeats() < 0.3;
    const repeated = fresh
      .slice(0, 1)
      .map((one) => ({ ...one, id: `e${1 + Math.floor(repeats() * events)}` }));
    const commit = write({ at: time, rows: distinct, events: isOnce ? repeated : fresh, isOnce });
    return { text: `write ${JSON.stringify(commit)}`, make: (store) => store.write(commit) };
  };

  const anyRead = (): Call => {
    const query = {
      ...(chance(0.5) && { account: pick(['main', 'other']) }),
      where: {
        ...(chance(0.3) && { tag: pick(['x', 'y']) }),
        ...(chance(0.3) && { state: pick(['on', 'off']) }),
      },
      ...anySorting(),
      ...(chance(0.3) && { filters: some(3, anyFilter) }),
      ...(chance(0.3) && {
        after: {
          createdAt: start + below(4),
          id: anyId(pick(homes)),
          name: pick(['Ann', 'Anna', 'Bob', 'é']),
        },
      }),
      limit: 1 + below(6),
    };
    const kind = pick(names.kinds);
    const from = below(events + 1);
    const { account, where, filters } = query;
    const scope = { where, ...(account && { account }), ...(filters && { filters }) };
    return pick<Call>([
      { text: `list ${kind} ${JSON.stringify(query)}`, make: (store) => store.resources.list(kind, query) },
      { text: `count ${kind} ${JSON.stringify(scope)}`, make: (store) => store.resources.count(kind, scope) },
      { text: `find ${kind}`, make: (store) => store.resources.find(kind, 'tag', 'x') },
      {
        text: `after ${from}`,
        make: (store) => store.events.after(from, { account: query.account, limit: query.limit }),
      },
      {
        text: `before ${from}`,
        make: (store) => store.events.before(from, { account: query.account, limit: query.limit }),
      },
      { text: 'timers', make: (store) => store.timers() },
      { text: 'timers of 1', make: (store) => store.timers([1]) },
      { text: 'orders of 0', make: (store) => store.orders([0]) },
      {
        text: 'load all',
        make: (store) => store.loadAll([...names.actors, 'a/none'], ['again-0-1', 'again-1-2', 'none']),
      },
      { text: 'load', make: (store) => Promise.all(names.actors.map((actor) => store.load(actor))) },
    ]);
  };

  const other = (): Call => {
    const ids = some(4, () => anyOrder(below(partitions)).id);
    const consumer = pick(names.consumers);
    const position = below(events + 1);
    return pick<Call>([
      { text: `acknowledge ${ids}`, make: (store) => store.acknowledge(ids) },
      { text: `advance ${consumer} ${position}`, make: (store) => store.events.advance(consumer, position) },
    ]);
  };

  const sweep = (): Call => {
    const back = below(40);
    const before = time - back;
    // Half of the sweeps have one.
    const upTo = back % 2 === 0 ? undefined : 2 * back;
    return { text: `sweep ${before} ${upTo}`, make: (store) => store.sweep(before, upTo) };
  };

  const acquire = (count: number): Call => {
    const some = leases.length > 0 && chance(0.3) ? { partitions: [below(partitions)] } : {};
    return {
      text: `acquire ${count} ${JSON.stringify(some)}`,
      leases: true,
      make: (store) => store.acquire(count, some),
    };
  };

  return {
    partitions,
    names,
    batch() {
      time += below(10);
      guesses = new Map(known);
      if (leases.length === 0 || chance(0.04)) return [acquire(partitions)];
      if (chance(0.01)) return [acquire(partitions + 1)];
      // Alone: a sweep is made in stretches, and reads beside writes in flight may see either side of them.
      if (chance(0.05)) return [sweep()];
      if (chance(0.3)) return [anyRead(), anyRead(), anyRead()];
      return [
        anyStep(),
        ...some(12, () =>
          chance(0.75) ? (chance(0.5) ? anyStep() : anyBatch()) : chance(0.6) ? anyWrite() : other(),
        ),
      ];
    },
    learn(call, answer) {
      const { value } = answer as { value?: Lease[] & { outcome?: string; offset?: number } };
      if (call.leases && value) {
        const taken = new Map(value.map((lease) => [lease.partition, lease]));
        leases = Array.from({ length: partitions }, (_, partition) => {
          return (taken.get(partition) ?? leases[partition]) as Lease;
        });
        offsets = leases.map(
          (lease, partition) => taken.get(partition)?.offset ?? offsets[partition] ?? lease.offset,
        );
      }
      if (call.partition !== undefined && value?.outcome === 'gap' && value.offset !== undefined) {
        offsets[call.partition] = value.offset;
      }
      if (value?.outcome === 'ok')
        for (const { actor, sequence } of call.moves ?? []) known.set(actor, sequence);
    },
  };
}

/** A small seeded random number generator (mulberry32): the same seed gives the same calls everywhere. */
export function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
