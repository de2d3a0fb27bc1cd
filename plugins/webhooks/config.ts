import { Type } from '@sinclair/typebox';
import { durationSchema } from '../../core/duration.ts';

const count = (options: { default: number; maximum: number; description: string }) =>
  Type.Integer({ minimum: 1, ...options });

export const config = Type.Object({
  maxPerAccount: count({
    default: 50,
    maximum: 1000,
    description: 'Webhooks an account may have; one more is refused with 409.',
  }),
  timeout: durationSchema({
    default: '30s',
    atLeast: '1s',
    description: 'Longest an attempt may take, from the connection to the end of the answer.',
  }),
  retryFor: durationSchema({
    default: '24h',
    atLeast: '1m',
    description: 'How long after its event a delivery is tried. At least 1m; more than 24h counts as 24h.',
  }),
  firstRetry: durationSchema({
    default: '5s',
    atLeast: '100ms',
    description: 'Wait before the second attempt; it doubles from there, a fifth more or less by chance.',
  }),
  longestRetry: durationSchema({
    default: '1h',
    atLeast: '1s',
    description: 'Longest wait between attempts.',
  }),
  concurrency: count({
    default: 256,
    maximum: 1000,
    description: 'Attempts under way at once in one process; further ones wait.',
  }),
  perAccount: count({
    default: 64,
    maximum: 1000,
    description: 'Attempts under way at once for one account; further ones wait, others go on.',
  }),
  perWebhook: count({
    default: 8,
    maximum: 1000,
    description: 'Attempts under way at once for one webhook; further ones wait, others go on.',
  }),
  breakerFailures: count({
    default: 5,
    maximum: 1_000_000,
    description: 'Failures in a row after which a webhook is left alone for a while.',
  }),
  breakerWait: durationSchema({
    default: '5s',
    atLeast: '100ms',
    description: 'How long it is left alone at first; it doubles with each try that fails.',
  }),
  longestBreak: durationSchema({
    default: '5m',
    atLeast: '1s',
    description: 'Longest time between two tries at a webhook that does not answer well.',
  }),
  maxRetrying: count({
    default: 10_000,
    maximum: 1_000_000,
    description:
      'Deliveries of one webhook that may wait for a retry. Beyond, its other events wait in the event log.',
  }),
  logRetention: durationSchema({ default: '7d', description: 'How long the delivery log keeps an attempt.' }),
  logEntries: count({
    default: 10_000,
    maximum: 10_000_000,
    description: 'Attempts of one webhook that the delivery log keeps; the oldest go first, every 10 min.',
  }),
  manualPerMinute: count({
    default: 30,
    maximum: 10_000,
    description: 'Calls of test and resend an account may make in a minute; further ones get 429.',
  }),
});
