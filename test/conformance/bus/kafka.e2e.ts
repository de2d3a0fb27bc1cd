import { describe, test } from 'vitest';
import { engineFor } from '../../kit/engines.ts';
import { openedKafka } from './kafka-opened.ts';
import { busChecks } from './suite.ts';

const engine = await engineFor('kafka');

describe.skipIf(engine.isMissing)('bus: Kafka', () => {
  test.each(busChecks)('$name', async (check) => {
    const { brokers } = await engine.shared();
    const opened = openedKafka(brokers);
    try {
      await check.run(opened);
    } finally {
      await opened.close();
    }
  });
});
