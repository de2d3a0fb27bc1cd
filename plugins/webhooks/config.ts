import { Type } from '@sinclair/typebox';
import { durationSchema, limitSchema } from '../../core/base/config-fields.ts';
import { maxPage } from '../../core/http/query.ts';

export const config = Type.Object({
  maxPerAccount: limitSchema({
    default: 50,
    maximum: maxPage,
    unit: 'webhooks',
    description: 'Webhooks an account may have.',
    beyond: '409 `webhook.too_many`.',
  }),
  timeout: durationSchema({
    default: '30s',
    atLeast: '1s',
    description: 'Longest an attempt may take, from the connection to the end of the answer.',
    beyond: 'It has failed.',
  }),
  retryFor: durationSchema({
    default: '24h',
    atLeast: '1m',
    description: 'How long after its event a delivery is tried. At least 1m; more than 24h counts as 24h.',
    beyond: 'It is given up, and the delivery log says so.',
  }),
  firstRetry: durationSchema({
    default: '5s',
    atLeast: '100ms',
    description: 'Wait before the second attempt; it doubles from there, a fifth more or less by chance.',
    beyond: 'It is tried again.',
  }),
  longestRetry: durationSchema({
    default: '1h',
    atLeast: '1s',
    description: 'Longest wait between attempts.',
    beyond: 'It is tried again.',
  }),
  concurrency: limitSchema({
    default: 256,
    unit: 'attempts',
    description: 'Attempts under way at once in one process.',
    beyond: 'Further ones wait.',
  }),
  perAccount: limitSchema({
    default: 64,
    unit: 'attempts',
    description: 'Attempts under way at once for one account, of each worker node.',
    beyond: 'Further ones wait, others go on.',
  }),
  perWebhook: limitSchema({
    default: 8,
    unit: 'attempts',
    description: 'Attempts under way at once for one webhook, of each worker node.',
    beyond: 'Further ones wait, others go on.',
  }),
  breakerFailures: limitSchema({
    default: 5,
    unit: 'failures',
    description: 'Failures in a row, on one worker node, before that leaves a webhook alone for a while.',
    beyond: 'Its events wait, others go on.',
  }),
  breakerWait: durationSchema({
    default: '5s',
    atLeast: '100ms',
    description: 'How long it is left alone at first; it doubles with each try that fails.',
    beyond: 'One attempt tells whether it is back.',
  }),
  longestBreak: durationSchema({
    default: '5m',
    atLeast: '1s',
    description: 'Longest time between two tries at a webhook that does not answer well.',
    beyond: 'It is tried again.',
  }),
  maxRetrying: limitSchema({
    default: 10_000,
    unit: 'deliveries',
    description: 'Deliveries of one webhook that may wait for a retry.',
    beyond: 'Its other events wait in the event log.',
  }),
  logRetention: durationSchema({
    default: '7d',
    description: 'How long the delivery log keeps an attempt.',
    beyond: 'It is removed within 10 min.',
  }),
  logEntries: limitSchema({
    default: 10_000,
    unit: 'attempts',
    description: 'Attempts of one webhook that the delivery log keeps.',
    beyond: 'The oldest are removed, every 10 min.',
  }),
  manualPerMinute: limitSchema({
    default: 30,
    unit: 'calls',
    description: 'Calls of test and resend an account may make in a minute.',
    beyond: '429 `webhook.too_many_attempts`.',
  }),
});
