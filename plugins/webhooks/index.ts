import { milliseconds } from '../../core/base/config-fields.ts';
import { regularly } from '../../core/base/timing.ts';
import { authenticator } from '../../core/http/auth.ts';
import { definePlugin, type Stop } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import { attemptEffect } from './attempt.ts';
import { config } from './config.ts';
import { countWebhooks, webhookCounts } from './counts.ts';
import { delivery } from './delivery.ts';
import { endpoints, sharedGate } from './endpoints.ts';
import { fanOut } from './fan-out.ts';
import type { WebhooksKit } from './kit.ts';
import { lane } from './lane.ts';
import { webhookLimits } from './limits.ts';
import { lostNode } from './lost-nodes.ts';
import { sweepLog } from './purge.ts';
import { refillEffect } from './refill.ts';
import { retries, retryCount } from './retries.ts';
import { routes } from './routes.ts';

/** Webhooks: an account's events, sent to its own addresses. */
export default definePlugin({
  id: 'webhooks',
  summary: 'events sent to addresses of the account',
  config,
  needs: [authenticator, endpoints, retries, webhookCounts, services.volatile],
  provides: [endpoints, retries, webhookCounts],
  actors: [lane, delivery],
  effects: { 'webhook.attempt': attemptEffect, 'webhook.refill': refillEffect },
  reactions: { '*': fanOut },
  lostNode,
  faults: {
    'webhook.not_found': { status: 404, meaning: 'There is no webhook of this id in your account.' },
    'webhook.busy': { status: 409, meaning: 'Others change this webhook; nothing was changed. Try again.' },
    'webhook.too_many': { status: 409, meaning: 'The account has as many webhooks as it may have.' },
    'webhook.stream_unknown': { status: 400, meaning: '`streamId` names no stream of the account.' },
    'webhook.too_many_attempts': {
      status: 429,
      meaning: 'Too many calls of test and resend in a minute, or another one for this webhook is under way.',
    },
    'webhook.body_gone': {
      status: 409,
      meaning: 'What was sent is not kept any more, so it cannot be sent again.',
    },
    'webhook_log.not_found': { status: 404, meaning: 'The delivery log of this webhook has no such entry.' },
  },
  routes,
  start(kit: WebhooksKit) {
    const { gate, stop: stopGate } = sharedGate(kit);
    kit.provide(endpoints, gate);
    kit.provide(retries, retryCount(kit));
    kit.provide(webhookCounts, countWebhooks(kit, { gate }));
    const stopSweeping = sweeping(kit);
    return async () => {
      const swept = stopSweeping();
      stopGate();
      await swept;
    };
  },
});

function sweeping(kit: WebhooksKit): Stop {
  const { clock, config, log } = kit;
  const retention = milliseconds(config.logRetention);
  return regularly(webhookLimits.sweep, {
    clock,
    work: (signal) => sweepLog(kit, { retention, signal }),
    failed: (error) => log.warn('the delivery log could not be swept', { error }),
  });
}
