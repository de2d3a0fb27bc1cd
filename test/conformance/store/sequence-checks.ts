import { expect } from 'vitest';
import type { Store } from '../../../core/ports/store.ts';
import type { Check } from './check.ts';
import { view } from './fixtures.ts';
import { modelStore } from './model.ts';
import { type Call, generator } from './operations.ts';

const seeds = Array.from({ length: 12 }, (_, index) => index + 41);
const batches = 60;

/** Generated calls, several in flight at once, against the model: every answer and everything stored is equal. */
export const sequenceChecks: readonly Check[] = seeds.map((seed) => ({
  name: `generated calls are answered as the model answers them, seed ${seed}`,
  async run({ store, reopen }) {
    const model = modelStore();
    const calls = generator(seed);
    for (let batch = 0; batch < batches; batch++) {
      const next = calls.batch();
      const answers = await Promise.all(next.map((call) => answer(call, store)));
      const expected = await Promise.all(next.map((call) => answer(call, model)));
      for (const [index, call] of next.entries()) {
        expect({ batch, call: call.text, answer: answers[index] }).toEqual({
          batch,
          call: call.text,
          answer: expected[index],
        });
        calls.learn(call, expected[index]);
      }
    }
    expect(await view(store, calls)).toEqual(await view(model, calls));
    const next = await reopen();
    expect(await view(next, calls)).toEqual(await view(model, calls));
    expect(await next.acquire(calls.partitions)).toEqual(await model.acquire(calls.partitions));
  },
}));

async function answer(call: Call, store: Store): Promise<unknown> {
  try {
    return { value: await call.make(store) };
  } catch (error) {
    return { code: (error as { code?: string }).code };
  }
}
