import { Type } from '@sinclair/typebox';
import { durationSchema, limitSchema } from '../../core/base/config-fields.ts';
import { maxPage } from '../../core/http/query.ts';
import type { Kit } from '../../core/plugin/plugin.ts';

export const config = Type.Object({
  maxPerAccount: limitSchema('Webhooks an account may have. One more gets 409 `webhook.too_many`.', {
    default: 50,
    maximum: maxPage,
    unit: 'webhooks',
  }),
  timeout: durationSchema(
    'Time for one attempt, from connecting to the end of the answer. Then the attempt has failed.',
    { default: '30s', atLeast: '1s' },
  ),
  retryFor: durationSchema(
    'How long after its event a delivery is retried. At least 1m; more than 24h counts as 24h. Then there is no further attempt, and the delivery log says so.',
    { default: '24h', atLeast: '1m' },
  ),
  firstRetry: durationSchema(
    'Wait before the second attempt. It doubles with each attempt, plus or minus a random fifth.',
    { default: '5s', atLeast: '100ms' },
  ),
  longestRetry: durationSchema('Longest wait between attempts.', { default: '1h', atLeast: '1s' }),
  concurrency: limitSchema('Concurrent attempts of one process. Further attempts wait.', {
    default: 256,
    unit: 'attempts',
  }),
  perAccount: limitSchema(
    'Concurrent attempts for one account on each worker node. Further attempts wait; those of others continue.',
    { default: 64, unit: 'attempts' },
  ),
  perWebhook: limitSchema(
    'Concurrent attempts for one webhook on each worker node. Further attempts wait; those of others continue.',
    { default: 8, unit: 'attempts' },
  ),
  perHost: limitSchema(
    'Concurrent attempts at one host, of all accounts, on each worker node. Further attempts wait; those at other hosts continue.',
    { default: 64, unit: 'attempts' },
  ),
  attemptsPerHost: limitSchema(
    'Attempts of one account at one host in a minute, on each worker node. Further attempts wait for the next minute. The admin account has no limit.',
    { default: 600, unit: 'attempts' },
  ),
  attemptsPerHostInAll: limitSchema(
    'The same for all accounts together, so that many accounts cannot flood one host.',
    { default: 6000, unit: 'attempts' },
  ),
  verify: Type.Boolean({
    default: false,
    description:
      'Before the first delivery of an account to a host, the server posts a challenge that the host must send back. Until then nothing is delivered to this host.',
  }),
  breakerFailures: limitSchema(
    'Failures in a row on one worker node before that node stops calling the webhook for a while. Its events wait; other webhooks are not affected.',
    { default: 5, unit: 'failures' },
  ),
  breakerWait: durationSchema(
    'First pause of a failing webhook. It doubles with each failed attempt. After a pause, one attempt checks whether the webhook works again.',
    { default: '5s', atLeast: '100ms' },
  ),
  longestBreak: durationSchema('Longest time between two attempts at a failing webhook.', {
    default: '5m',
    atLeast: '1s',
  }),
  maxRetrying: limitSchema(
    'Deliveries of one webhook that may wait for a retry. Further events of the webhook wait in the event log.',
    { default: 10_000, unit: 'deliveries' },
  ),
  logRetention: durationSchema(
    'How long the delivery log keeps an attempt. Older entries are deleted within 10 min.',
    { default: '7d' },
  ),
  logEntries: limitSchema(
    'Entries the delivery log keeps for one webhook. Every 10 min the oldest further entries are deleted.',
    { default: 10_000, unit: 'attempts' },
  ),
  manualPerMinute: limitSchema(
    'Calls of test and resend of one account in a minute. One more gets 429 `webhook.too_many_attempts`.',
    { default: 30, unit: 'calls' },
  ),
});

/** What this plugin is given. */
export type WebhooksKit = Kit<typeof config>;
