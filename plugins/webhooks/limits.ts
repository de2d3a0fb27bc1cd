import { limitTable, valuesOf } from '../../core/base/limit-table.ts';

/** Bounds of webhooks that no deployment changes; config.ts has the others. Those of the machines are theirs. */
export const webhookLimitTable = limitTable('webhooks', {
  eventNames: {
    value: 100,
    unit: 'names',
    meaning: '`events` of a webhook, as sent.',
    beyond: '422 `body.invalid`.',
  },
  namedUnknown: {
    value: 5,
    unit: 'names',
    meaning: 'Unknown events that a 422 repeats.',
    beyond: 'The others are counted.',
  },
  namedLength: {
    value: 60,
    unit: 'characters',
    meaning: 'Each of them.',
    beyond: 'It is cut off.',
  },
  url: {
    value: 2000,
    unit: 'characters',
    meaning: '`url` of a webhook.',
    beyond: '422 `body.invalid`.',
  },
  secretLength: {
    value: 500,
    unit: 'characters',
    meaning: '`sharedSecret`.',
    beyond: '422 `body.invalid`.',
  },
  secretBytes: {
    value: 8,
    unit: 'bytes',
    meaning: 'What `sharedSecret` must come to at least.',
    beyond: '422 `body.invalid` when it is less.',
  },
  eventLength: {
    value: 100,
    unit: 'characters',
    meaning: '`event` of a test.',
    beyond: '422 `body.invalid`.',
  },
  rotation: {
    value: 24 * 3_600_000,
    unit: 'ms',
    meaning: 'How long a secret signs after another took its place.',
    beyond: 'It signs no more.',
  },
  secrets: {
    value: 4,
    unit: 'secrets',
    meaning: 'Secrets of one webhook that sign at once.',
    beyond: 'The oldest ends at once.',
  },
  retryFor: {
    value: 24 * 3_600_000,
    unit: 'ms',
    meaning: '`retryFor` as it counts: as long as the event log keeps what is sent.',
    beyond: 'The delivery is given up.',
  },
  loggedBody: {
    value: 64 * 1024,
    unit: 'bytes',
    meaning: 'A body in the delivery log.',
    beyond: 'It is cut off, and `isCut` says so.',
  },
  loggedAnswer: {
    value: 1024,
    unit: 'bytes',
    meaning: 'An answer that is read and logged.',
    beyond: 'The rest is not read.',
  },
  manualTimeout: {
    value: 20_000,
    unit: 'ms',
    meaning: 'An attempt of `test` or `resend`, whose caller waits.',
    beyond: 'It has failed.',
  },
  fanOut: {
    value: 20,
    unit: 'webhooks',
    meaning: 'Webhooks that get an event side by side.',
    beyond: 'The next ones after them.',
  },
  hold: {
    value: 60_000,
    unit: 'ms',
    meaning: 'How long a lane waits at least that nobody wakes; up to twice as long, by chance.',
    beyond: 'It looks again.',
  },
  turn: {
    value: 32,
    unit: 'attempts',
    meaning: 'Attempts of a lane in a row, where others wait for the same webhook.',
    beyond: 'It waits for its next turn.',
  },
  grace: {
    value: 20,
    unit: 'ms',
    meaning: 'How long a place is kept for the lane that has left it, where others wait.',
    beyond: 'One of them gets it.',
  },
  refill: {
    value: 100,
    unit: 'events',
    meaning: 'Events that a lane reads from the log at one go.',
    beyond: 'The rest with the next one.',
  },
  refillPages: {
    value: 50,
    unit: 'goes',
    meaning: 'How often it does so before it keeps what it has read.',
    beyond: 'It reads on from there.',
  },
  sweep: {
    value: 10 * 60_000,
    unit: 'ms',
    meaning: 'Time between two sweeps of the delivery log.',
    beyond: 'It may have as many more entries as come in that time.',
  },
  sweepBatch: {
    value: 200,
    unit: 'rows',
    meaning: 'Rows that one write removes.',
    beyond: 'The rest with the next one.',
  },
  purgePage: {
    value: 100,
    unit: 'actors',
    meaning: 'Lanes and deliveries of a deleted webhook that are ended at a time.',
    beyond: 'The rest after them.',
  },
  countAge: {
    value: 10_000,
    unit: 'ms',
    meaning: 'How old the number of waiting retries may be.',
    beyond: 'It is counted anew.',
  },
  counted: {
    value: 10_000,
    unit: 'webhooks',
    meaning: 'Webhooks whose waiting retries are kept in mind.',
    beyond: 'All are counted anew.',
  },
  changes: {
    value: 5,
    unit: 'attempts',
    meaning: 'How often a change is tried while others change the same webhook.',
    beyond: '409 `webhook.busy`.',
  },
  jobSlack: {
    value: 10_000,
    unit: 'ms',
    meaning: 'What an attempt may take beside its request.',
    beyond: 'It is tried again.',
  },
  refills: {
    value: 16,
    unit: 'jobs',
    meaning: 'Lanes that read the event log at one time.',
    beyond: 'Others wait.',
  },
  refillTime: {
    value: 30_000,
    unit: 'ms',
    meaning: 'One reading of the event log for a lane.',
    beyond: 'It is tried again.',
  },
  laneWaiting: {
    value: 1000,
    unit: 'events',
    meaning: 'Events that a lane holds.',
    beyond: 'They are read from the event log when their turn comes.',
  },
  laneIdle: {
    value: 60_000,
    unit: 'ms',
    meaning: 'A lane without work.',
    beyond: 'It ends; the next event begins another.',
  },
  laneTrouble: {
    value: 10_000,
    unit: 'ms',
    meaning: 'Wait of a lane after an attempt that was not possible for reasons of ours.',
    beyond: 'It tries again.',
  },
  deliveryTrouble: {
    value: 60_000,
    unit: 'ms',
    meaning: 'The same of a delivery.',
    beyond: 'It tries again.',
  },
});

export const webhookLimits = valuesOf(webhookLimitTable);
