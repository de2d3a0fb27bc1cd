import { limitTable } from '../../core/base/limit-table.ts';

/** Engines beside the program: Redis, Kafka, S3. */
export const engineLimits = limitTable('engines', {
  startWait: {
    value: 60_000,
    unit: 'ms',
    meaning: 'How long a start waits for an engine that does not answer.',
    beyond: 'Exit code 1, naming it.',
  },
  retryInterval: {
    value: 500,
    unit: 'ms',
    meaning: 'Pause between two attempts to reach an engine at the start.',
    beyond: 'It is tried again.',
  },
  tellInterval: {
    value: 5000,
    unit: 'ms',
    meaning: 'How often the log tells that the start waits for an engine.',
    beyond: 'It is told again.',
  },
  askInterval: {
    value: 1000,
    unit: 'ms',
    meaning: 'How often a running node asks its engines whether they are there.',
    beyond: 'They are asked again.',
  },
  silence: {
    value: 5000,
    unit: 'ms',
    meaning: 'How long an engine may not answer before the node is not ready any more.',
    beyond: '`/health/ready` is 503 until the engine answers.',
  },
});
