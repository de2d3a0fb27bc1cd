import { milliseconds } from '../../core/base/config-fields.ts';
import { regularly } from '../../core/base/timing.ts';
import { storedKinds, usages } from '../../core/http/account-limits.ts';
import { authenticator } from '../../core/http/auth.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import { offer } from '../../core/plugin/token.ts';
import { deliveryLogs } from '../streams/contract.ts';
import { attemptEffect } from './attempt.ts';
import { challengeHosts, challenges } from './challenge.ts';
import { config, type WebhooksKit } from './config.ts';
import { webhooks } from './contract.ts';
import { countWebhooks, webhookCounts } from './counts.ts';
import { delivery, retries, retryCount } from './delivery.ts';
import { endpoints, WebhookEndpoints } from './endpoints.ts';
import { formats, knownFormats } from './formats.ts';
import { countHosts, hostRates } from './hosts.ts';
import { fanOut, lane, lostNode, refillEffect } from './lane.ts';
import { logKind } from './log-entry.ts';
import { sweepLog } from './purge.ts';
import { registry, webhookRegistry } from './registry.ts';
import { routes } from './routes.ts';
import { sealOldSecrets } from './secrets.ts';
import { streamDeliveries } from './stream-deliveries.ts';
import { webhookKind } from './webhook.ts';

/** Webhooks: an account's events, sent to its own addresses. */
export default definePlugin({
  id: 'webhooks',
  summary: 'events sent to addresses of the account',
  config,
  offers: [
    offer(deliveryLogs, streamDeliveries),
    offer(storedKinds, () => ({ kind: webhookKind })),
    offer(storedKinds, () => ({ kind: logKind })),
    offer(usages, ({ resources }: WebhooksKit) => ({
      name: 'webhooks',
      used: (account) => resources.count(webhookKind, { account }),
    })),
  ],
  needs: [
    ...[authenticator, challenges, endpoints, formats, hostRates, registry, retries, webhookCounts],
    ...[services.secrets, services.volatile],
  ],
  provides: [challenges, endpoints, formats, hostRates, registry, retries, webhookCounts, webhooks],
  actors: [lane, delivery],
  effects: { 'webhook.attempt': attemptEffect, 'webhook.refill': refillEffect },
  reactions: { '*': fanOut },
  lostNode,
  duties: { sealSecrets: sealOldSecrets },
  faults: {
    'webhook.not_found': { status: 404, meaning: 'There is no webhook of this id in your account.' },
    'webhook.busy': {
      status: 409,
      meaning: 'Other requests change this webhook at the same time; nothing was changed. Try again.',
    },
    'webhook.too_many': {
      status: 409,
      meaning: 'The account has the maximum number of webhooks (plugins.webhooks.maxPerAccount).',
    },
    'webhook.stream_unknown': { status: 400, meaning: '`streamId` names no stream of the account.' },
    'webhook.too_many_attempts': {
      status: 429,
      meaning:
        'Too many test and resend requests in a minute, or another one of this webhook is still running.',
    },
    'webhook.body_gone': {
      status: 409,
      meaning: 'The body of the delivery is no longer kept, so it cannot be sent again.',
    },
    'webhook_log.not_found': { status: 404, meaning: 'The delivery log of this webhook has no such entry.' },
  },
  routes,
  start(kit: WebhooksKit) {
    const { clock, config, log } = kit;
    const called = new WebhookEndpoints(kit);
    kit.provide(endpoints, called);
    kit.provide(formats, knownFormats(kit));
    kit.provide(retries, retryCount(kit));
    kit.provide(hostRates, countHosts(kit));
    kit.provide(challenges, challengeHosts(kit));
    const all = webhookRegistry(kit);
    kit.provide(registry, all);
    kit.provide(webhooks, all.contract);
    kit.provide(webhookCounts, countWebhooks(kit, { endpoints: called }));
    const retention = milliseconds(config.logRetention);
    const stopSweeping = regularly(sweepInterval, {
      clock,
      work: (signal) => sweepLog(kit, { retention, signal }),
      failed: (error) => log.warn('the webhook delivery log could not be swept', { error }),
    });
    return async () => {
      const swept = stopSweeping();
      called.stop();
      await swept;
    };
  },
});

/** Between two sweeps of the delivery log, ms. */
const sweepInterval = 10 * 60_000;
