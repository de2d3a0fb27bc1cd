import { expect } from 'vitest';
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
 * time that moves on by about a lease.
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
    const generate = generator(chance, lease as Lease);
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
  lease: Lease,
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
          ...{
            id,
            kind: id.slice(-2),
            child: pick(['x', 'y']),
            input: `${below(100)}`,
            due: time + below(60) - 20,
          },
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
    const claim = { owner, limit: 4 - below(4), until: time + 10 + below(30) };
    const leases = some(5, () => ({ id: anyId(), until: time + 10 + below(30) }));
    const release = { id, due: time + below(60) - 20, ...(chance(0.3) && { isUncounted: true }) };
    const claims: Call = {
      text: `claim ${kind} ${JSON.stringify(claim)}`,
      make: ({ jobs }) => jobs.claim(kind, { ...claim, now: time }),
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
      const asked = kinds.filter(() => chance(0.7));
      return [{ text: `next ${asked}`, make: ({ jobs }) => jobs.next(asked) }];
    }
    // One step at most: the next one of its actor must know how it ended.
    return [await anyStep(model, time), ...some(6, () => anyWork(time))];
  };
}

async function answer(call: Call, driver: Halves): Promise<{ value: unknown } | { code: unknown }> {
  try {
    return { value: await call.make(driver) };
  } catch (error) {
    return { code: (error as { code?: string }).code };
  }
}

function seedsTo(last: number): number[] {
  return Array.from({ length: last }, (_, index) => index + 1);
}
