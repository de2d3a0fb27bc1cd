import { describe, expect, test } from 'vitest';
import { Fault } from '../../../core/base/fault.ts';
import type { Bus } from '../../../core/ports/bus.ts';
import { engineFor } from '../../kit/engines.ts';
import { openedKafka } from './kafka-opened.ts';
import { checkOf, mutants } from './mutants.ts';

const engine = await engineFor('kafka');

/** With methods that a mutant can take one by one. */
function methodsOf(bus: Bus): Bus {
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(bus)) as (keyof Bus)[];
  return Object.fromEntries(names.map((name) => [name, bus[name].bind(bus)])) as unknown as Bus;
}

// Side by side, each with topics of its own: most fail by what does not come.
describe.skipIf(engine.isMissing)('the suite of the bus, on Kafka', { concurrent: true }, () => {
  test.each(Object.entries(mutants))('fails a driver that %s', async (_, mutant) => {
    const { brokers } = await engine.shared();
    const opened = openedKafka(brokers, { wrap: (bus) => mutant.mutate(methodsOf(bus)), patience: 8000 });
    try {
      const error = await checkOf(mutant)
        .run(opened)
        .catch((reason) => reason);
      expect(error).toBeInstanceOf(Error);
      // The engine's trouble would prove nothing.
      expect(error).not.toBeInstanceOf(Fault);
    } finally {
      await opened.close();
    }
  });
});
