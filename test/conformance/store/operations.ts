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
  readonly moves?: { readonly actor: string; readonly sequence: number };
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

  const anyRow = (): ResourceWrite =>
    row({
      kind: pick(names.kinds),
      id: `r${below(5)}`,
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
  const anyOrder = () => ({ id: `o${below(12)}`, type: 'close', body: `{"n":${below(100)}}` });

  const anyStep = (): Call => {
    const actor = pick(names.actors);
    const lease = leases[actor.charCodeAt(0) % partitions] ?? { partition: 0, epoch: 1, counter: 0 };
    const guess = guesses.get(actor) ?? 0;
    const sequence = chance(0.9) ? guess : Math.max(0, guess + below(3) - 1);
    const isEnd = chance(0.08);
    const numbered = chance(0.3) && { cause: `d${lease.partition}.${++direct}`, counter: direct - below(3) };
    const commit: StepCommit = step(lease, {
      epoch: chance(0.95) ? lease.epoch : lease.epoch - 1,
      actor,
      at: time,
      sequence,
      state: isEnd ? null : `{"n":${below(1000)}}`,
      version: 1 + below(2),
      cause: chance(0.15) ? `again-${below(6)}` : `${actor}-${time}-${below(1e9)}`,
      ...numbered,
      ...(chance(0.5) && { reply: `{"r":${below(10)}}` }),
      rows: some(3, anyRow),
      timers: some(3, () => ({ name: pick(['t', 'u']), due: chance(0.3) ? null : time + below(50) })),
      events: some(3, anyEvent),
      orders: some(2, anyOrder),
    });
    // A guess only: the commit may be refused, and then those for the same actor in this batch are, too.
    const moves = { actor, sequence: isEnd ? 0 : sequence + 1 };
    guesses.set(actor, moves.sequence);
    return { moves, text: `commit ${JSON.stringify(commit)}`, make: (store) => store.commit(commit) };
  };

  const anyWrite = (): Call => {
    const rows = some(3, () => ({ ...anyRow(), revision: below(4) }));
    const seen = new Set<string>();
    const distinct = rows.filter(({ kind, id }) => !seen.has(`${kind}/${id}`) && seen.add(`${kind}/${id}`));
    const commit = write({ at: time, rows: distinct, events: some(2, anyEvent) });
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
        after: { createdAt: start + below(4), id: `r${below(5)}`, name: pick(['Ann', 'Anna', 'Bob', 'é']) },
      }),
      limit: 1 + below(6),
    };
    const kind = pick(names.kinds);
    const from = below(events + 1);
    return pick<Call>([
      { text: `list ${kind} ${JSON.stringify(query)}`, make: (store) => store.resources.list(kind, query) },
      { text: `count ${kind} ${JSON.stringify(query)}`, make: (store) => store.resources.count(kind, query) },
      { text: `find ${kind}`, make: (store) => store.resources.find(kind, 'tag', 'x') },
      {
        text: `after ${from}`,
        make: (store) => store.events.after(from, { account: query.account, limit: query.limit }),
      },
      { text: 'timers', make: (store) => store.timers() },
      { text: 'load', make: (store) => Promise.all(names.actors.map((actor) => store.load(actor))) },
    ]);
  };

  const other = (): Call => {
    const ids = some(4, () => `o${below(12)}`);
    const consumer = pick(names.consumers);
    const position = below(events + 1);
    const before = time - below(40);
    return pick<Call>([
      { text: `acknowledge ${ids}`, make: (store) => store.acknowledge(ids) },
      { text: `advance ${consumer} ${position}`, make: (store) => store.events.advance(consumer, position) },
      { text: `sweep ${before}`, make: (store) => store.sweep(before) },
    ]);
  };

  const acquire = (count: number): Call => ({
    text: `acquire ${count}`,
    leases: true,
    make: (store) => store.acquire(count),
  });

  return {
    partitions,
    names,
    batch() {
      time += below(10);
      guesses = new Map(known);
      if (leases.length === 0 || chance(0.04)) return [acquire(partitions)];
      if (chance(0.01)) return [acquire(partitions + 1)];
      // Reads alone: beside writes in flight they may see either side of them.
      if (chance(0.3)) return [anyRead(), anyRead(), anyRead()];
      return [anyStep(), ...some(12, () => (chance(0.75) ? anyStep() : chance(0.6) ? anyWrite() : other()))];
    },
    learn(call, answer) {
      const { value } = answer as { value?: Lease[] & { outcome?: string } };
      if (call.leases && value) leases = value;
      if (call.moves && value?.outcome === 'ok') known.set(call.moves.actor, call.moves.sequence);
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
