import { Type } from '@sinclair/typebox';
import { durationSchema, limitSchema } from '../../core/base/config-fields.ts';
import { maxPage } from '../../core/http/query.ts';
import type { Kit } from '../../core/plugin/plugin.ts';

export const config = Type.Object({
  maxPerAccount: limitSchema({
    default: 50,
    maximum: maxPage,
    unit: 'webhooks',
    description: 'Webhooks an account may have.',
    beyond: 'One more gets 409 `webhook.too_many`.',
  }),
  timeout: durationSchema({
    default: '30s',
    atLeast: '1s',
    description: 'Time for one attempt, from connecting to the end of the answer.',
    beyond: 'Then the attempt has failed.',
  }),
  retryFor: durationSchema({
    default: '24h',
    atLeast: '1m',
    description: 'How long after its event a delivery is retried. At least 1m; more than 24h counts as 24h.',
    beyond: 'Then there is no further attempt, and the delivery log says so.',
  }),
  firstRetry: durationSchema({
    default: '5s',
    atLeast: '100ms',
    description:
      'Wait before the second attempt. It doubles with each attempt, plus or minus a random fifth.',
  }),
  longestRetry: durationSchema({
    default: '1h',
    atLeast: '1s',
    description: 'Longest wait between attempts.',
  }),
  concurrency: limitSchema({
    default: 256,
    unit: 'attempts',
    description: 'Concurrent attempts of one process.',
    beyond: 'Further attempts wait.',
  }),
  perAccount: limitSchema({
    default: 64,
    unit: 'attempts',
    description: 'Concurrent attempts for one account on each worker node.',
    beyond: 'Further attempts wait; those of others continue.',
  }),
  perWebhook: limitSchema({
    default: 8,
    unit: 'attempts',
    description: 'Concurrent attempts for one webhook on each worker node.',
    beyond: 'Further attempts wait; those of others continue.',
  }),
  breakerFailures: limitSchema({
    default: 5,
    unit: 'failures',
    description:
      'Failures in a row on one worker node before that node stops calling the webhook for a while.',
    beyond: 'Its events wait; other webhooks are not affected.',
  }),
  breakerWait: durationSchema({
    default: '5s',
    atLeast: '100ms',
    description: 'First pause of a failing webhook. It doubles with each failed attempt.',
    beyond: 'After a pause, one attempt checks whether the webhook works again.',
  }),
  longestBreak: durationSchema({
    default: '5m',
    atLeast: '1s',
    description: 'Longest time between two attempts at a failing webhook.',
  }),
  maxRetrying: limitSchema({
    default: 10_000,
    unit: 'deliveries',
    description: 'Deliveries of one webhook that may wait for a retry.',
    beyond: 'Further events of the webhook wait in the event log.',
  }),
  logRetention: durationSchema({
    default: '7d',
    description: 'How long the delivery log keeps an attempt.',
    beyond: 'Older entries are deleted within 10 min.',
  }),
  logEntries: limitSchema({
    default: 10_000,
    unit: 'attempts',
    description: 'Entries the delivery log keeps for one webhook.',
    beyond: 'Every 10 min the oldest further entries are deleted.',
  }),
  manualPerMinute: limitSchema({
    default: 30,
    unit: 'calls',
    description: 'Calls of test and resend of one account in a minute.',
    beyond: 'One more gets 429 `webhook.too_many_attempts`.',
  }),
});

/** What this plugin is given. */
export type WebhooksKit = Kit<typeof config>;
