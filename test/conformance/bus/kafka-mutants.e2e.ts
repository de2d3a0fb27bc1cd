import { describe, expect, test } from 'vitest';
import { Fault } from '../../../core/base/fault.ts';
import { engineFor } from '../../kit/engines.ts';
import { openedKafka } from './kafka-opened.ts';
import { checkOf, mutants } from './mutants.ts';

const engine = await engineFor('kafka');

// Side by side, each with topics of its own: most fail by what does not come.
describe.skipIf(engine.isMissing)('the suite of the bus, on Kafka', { concurrent: true }, () => {
  test.each(Object.entries(mutants))('fails a driver that %s', async (_, mutant) => {
    const { brokers } = await engine.shared();
    const opened = openedKafka(brokers, { wrap: mutant.mutate, patience: 8000 });
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
