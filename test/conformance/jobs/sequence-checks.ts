import { expect } from 'vitest';
import type { Job } from '../../../core/ports/jobs.ts';
import type { Lease, StepCommit, Store } from '../../../core/ports/store.ts';
import { start, step } from '../store/fixtures.ts';
import { modelStore } from '../store/model.ts';
import { mulberry } from '../store/operations.ts';
import type { Halves, JobCheck } from './check.ts';
import { idOf } from './fixtures.ts';

const batches = 120;
const owners = ['n1/a', 'n1/b', 'n2/a'];
const kinds = ['k1', 'k2'];

interface Call {
  readonly text: string;
  make(driver: Halves): Promise<unknown>;
}

/**
 * Generated calls, several in flight at once, against the model. They hit each other often: few jobs, few owners, and
 * time that moves on by about a lease. For drivers of one engine, which go by the times of their callers.
 */
export const sequenceChecks: readonly JobCheck[] = seedsTo(16).map((seed) => ({
  name: `generated calls are answered as the model answers them, seed ${seed}`,
  async run({ store, jobs, reopen }) {
    const model = modelStore();
    const [lease] = await store.acquire(1);
    await model.acquire(1);
    let driver: Halves = { store, jobs };
    let time = start;
    const chance = chances(seed);
    const generate = generator(chance, { lease: lease as Lease, pace: numbers(chance) });
    for (let batch = 0; batch < batches; batch++) {
      time += chance.below(12);
      const calls = await generate(model, time);
      const answers = await Promise.all(calls.map((call) => answer(call, driver)));
      const expected = await Promise.all(
        calls.map((call) => answer(call, { store: model, jobs: model.jobs })),
      );
      for (const [index, { text }] of calls.entries()) {
        expect({ batch, text, answer: answers[index] }).toEqual({ batch, text, answer: expected[index] });
      }
      expect(await driver.jobs.totals()).toEqual(await model.jobs.totals());
    }
    driver = await reopen();
    expect(await driver.jobs.totals()).toEqual(await model.jobs.totals());
    const all = { owner: 'last/a', limit: 1000, now: start + 1e9, until: start + 2e9 };
    for (const kind of kinds) {
      expect(await driver.jobs.claim(kind, all)).toEqual(await model.jobs.claim(kind, all));
    }
  },
}));

interface Ticks {
  /** A length of real time in which all calls of a batch are made. Whatever ends or falls due does so where one begins. */
  readonly tick: number;
  /** Behind what happens where a tick begins. */
  readonly settled: number;
}

/**
 * The same for drivers that go by a clock of their own: time goes by in ticks, and one call is made after the other,
 * because which of two that are under way comes first is theirs to choose.
 */
export const pacedChecks: readonly JobCheck[] = seedsTo(3).map((seed) => ({
  name: `generated calls are answered as the model answers them, at the pace of real time, seed ${seed}`,
  async run({ store, jobs, time, reopen }, slowness) {
    const [tick, settled] = [300 * slowness, 100 * slowness];
    let now = 0;
    const model = modelStore({ endsAt: () => now });
    const [lease] = await store.acquire(1);
    await model.acquire(1);
    let driver: Halves = { store, jobs };
    const chance = chances(seed);
    const generate = generator(chance, { lease: lease as Lease, pace: ticks(chance, { tick, settled }) });
    const nextTick = async (count: number) => {
      const begins = Math.ceil(time.now() / tick + count) * tick;
      await time.at(begins);
      now = begins + settled;
      await time.at(now);
      return begins + tick;
    };
    for (let batch = 0; batch < 20; batch++) {
      const ends = await nextTick(chance.below(2));
      for (const call of await generate(model, now)) {
        const given = await answer(call, driver);
        await time.before(ends);
        const expected = await answer(call, { store: model, jobs: model.jobs });
        expectAlike({ batch, text: call.text, given, expected, now, settled });
      }
      const totals = await driver.jobs.totals();
      await time.before(ends);
      expect(totals).toEqual(await model.jobs.totals());
    }
    driver = await reopen();
    const ends = await nextTick(8);
    expect(await driver.jobs.totals()).toEqual(await model.jobs.totals());
    const all = { owner: 'last/a', limit: 1000, now, until: now + 60_000 };
    for (const kind of kinds) {
      const given = { value: await driver.jobs.claim(kind, all) };
      await time.before(ends);
      const expected = { value: await model.jobs.claim(kind, all) };
      expectAlike({ batch: -1, text: `claim ${kind}`, given, expected, now, settled });
    }
    expect(await driver.jobs.next(kinds, 'last/a')).toBeUndefined();
  },
}));

interface Answers {
  readonly batch: number;
  readonly text: string;
  readonly given: { readonly value?: unknown; readonly code?: unknown };
  readonly expected: Answers['given'];
  readonly now: number;
  readonly settled: number;
}

/** Lists of jobs have the same jobs, and those that nobody had yet in the same order; moments to come are about the same. */
function expectAlike({ batch, text, given, expected, now, settled }: Answers): void {
  const [one, other] = [given.value, expected.value];
  if (text.startsWith('claim ')) {
    expect({ batch, text, jobs: byId(one as Job[]) }).toEqual({ batch, text, jobs: byId(other as Job[]) });
    expect({ batch, text, fresh: fresh(one as Job[]) }).toEqual({
      batch,
      text,
      fresh: fresh(other as Job[]),
    });
  } else if (text.startsWith('next ') && typeof one === 'number' && typeof other === 'number') {
    if (one <= Date.now() && other <= now) return;
    expect({ batch, text, next: Math.abs(one - other) < settled }).toEqual({ batch, text, next: true });
  } else {
    expect({ batch, text, given }).toEqual({ batch, text, given: expected });
  }
}

function byId(jobs: readonly Job[]): Job[] {
  return jobs.toSorted((one, other) => (one.id < other.id ? -1 : 1));
}

function fresh(jobs: readonly Job[]): string[] {
  return jobs.filter(({ attempt }) => attempt === 1).map(({ id }) => id);
}

/** How a sequence uses time. */
interface Pace {
  /** When a job is due that is added or put back now. */
  due(now: number): number;
  /** The end of a lease of now. */
  end(now: number): number;
  /** For a claim. */
  now(now: number): number;
  readonly limit: number;
}

function numbers({ below }: Chances): Pace {
  return {
    due: (now) => now + below(60) - 20,
    end: (now) => now + 10 + below(30),
    now: (now) => now,
    limit: 4,
  };
}

/** No two moments are alike, so that the order of those that come at one time does not matter. */
function ticks({ below }: Chances, { tick, settled }: Ticks): Pace {
  let made = 0;
  const moment = (now: number, count: number) => now - settled + count * tick + (made++ % 40);
  return {
    due: (now) => moment(now, below(4)),
    end: (now) => moment(now, 1 + below(4)),
    now: () => Date.now(),
    limit: 1000,
  };
}

interface Chances {
  below(bound: number): number;
  chance(share: number): boolean;
  pick<Value>(values: readonly Value[]): Value;
  some<Value>(bound: number, make: () => Value): Value[];
}

function chances(seed: number): Chances {
  const random = mulberry(seed);
  const below = (bound: number) => Math.floor(random() * bound);
  return {
    below,
    chance: (share) => random() < share,
    pick: (values) => values[below(values.length)] as (typeof values)[number],
    some: (bound, make) => Array.from({ length: below(bound) }, make),
  };
}

function generator(
  { below, chance, pick, some }: Chances,
  { lease, pace }: { lease: Lease; pace: Pace },
): (model: Store, time: number) => Promise<Call[]> {
  let causes = 0;
  let actors = ['a/1', 'a/2', 'a/3'];
  const anyId = () => idOf(`j${below(12)}`, pick(kinds));

  const anyStep = async (model: Store, time: number): Promise<Call> => {
    const actor = pick(actors);
    const isEnd = chance(0.06);
    if (isEnd) actors = actors.map((one) => (one === actor ? `${one}'` : one));
    const known = (await model.load(actor))?.sequence ?? 0;
    const commit: StepCommit = step(lease, {
      actor,
      at: time,
      cause: `c${++causes}`,
      sequence: chance(0.95) ? known : known + 1,
      state: isEnd ? null : '{}',
      jobs: some(4, () => {
        const id = anyId();
        return {
          ...{ id, kind: id.slice(-2), child: pick(['x', 'y']), input: `${below(100)}`, due: pace.due(time) },
        };
      }),
      cancels: some(3, anyId),
      ...(chance(0.4) && { finish: { id: anyId(), owner: pick(owners) } }),
    });
    return { text: `commit ${JSON.stringify(commit)}`, make: ({ store }) => store.commit(commit) };
  };

  const anyWork = (time: number): Call => {
    const owner = pick(owners);
    const id = anyId();
    const kind = pick(kinds);
    const claim = { owner, limit: pace.limit - below(pace.limit === 4 ? 4 : 1), until: pace.end(time) };
    const leases = some(5, () => ({ id: anyId(), until: pace.end(time) }));
    const release = { id, due: pace.due(time), ...(chance(0.3) && { isUncounted: true }) };
    const claims: Call = {
      text: `claim ${kind} ${JSON.stringify(claim)}`,
      make: ({ jobs }) => jobs.claim(kind, { ...claim, now: pace.now(time) }),
    };
    return pick<Call>([
      claims,
      claims,
      { text: `beat ${owner} ${JSON.stringify(leases)}`, make: ({ jobs }) => jobs.beat(owner, leases) },
      {
        text: `release ${owner} ${JSON.stringify(release)}`,
        make: ({ jobs }) => jobs.release(owner, release),
      },
      { text: `finish ${owner} ${id}`, make: ({ jobs }) => jobs.finish(owner, id) },
      chance(0.3) ? { text: `free ${owner}`, make: ({ jobs }) => jobs.free([owner], time) } : claims,
    ]);
  };

  return async (model, time) => {
    // Reads alone: beside writes in flight they may see either side of them.
    if (chance(0.25)) {
      const owner = pick(owners);
      const asked = kinds.filter(() => chance(0.7));
      return [{ text: `next ${asked} ${owner}`, make: ({ jobs }) => jobs.next(asked, owner) }];
    }
    // One step at most: the next one of its actor must know how it ended.
    return [await anyStep(model, time), ...some(6, () => anyWork(time))];
  };
}

async function answer(call: Call, driver: Halves): Promise<Answers['given']> {
  try {
    return { value: await call.make(driver) };
  } catch (error) {
    return { code: (error as { code?: string }).code };
  }
}

function seedsTo(last: number): number[] {
  return Array.from({ length: last }, (_, index) => index + 1);
}
