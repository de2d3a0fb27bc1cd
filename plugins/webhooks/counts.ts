import { token } from '../../core/plugin/token.ts';
import type { WebhooksKit } from './config.ts';
import { countAge, deliveryKind } from './delivery.ts';
import type { Endpoints } from './endpoints.ts';
import type { SentOutcome } from './send.ts';

/** `gone`: the endpoint wants no more of it (410). `expired`: the time was up. `refused`: a plugin does not allow it. */
const ends = ['delivered', 'gone', 'expired', 'refused'] as const;
const outcomes = ['2xx', '3xx', '4xx', '5xx', 'timeout', 'network', 'tls', 'refused', 'ours'] as const;

/** Metrics of webhooks: no ids, no URLs, no names. */
export interface WebhookCounts {
  /** A delivery has ended. */
  ended(outcome: (typeof ends)[number]): void;
  attempted(outcome: SentOutcome): void;
  /** The first byte of a first attempt was sent so many ms after the commit of its event. */
  began(after: number): void;
}

export const webhookCounts = token<WebhookCounts>('webhooks.counts');

export function countWebhooks(kit: WebhooksKit, { endpoints }: { endpoints: Endpoints }): WebhookCounts {
  const { metrics, resources, clock } = kit;
  const deliveries = metrics.counter('millrace_webhook_deliveries_total', 'Ended deliveries, by outcome.');
  const attempts = metrics.counter('millrace_webhook_attempts_total', 'Delivery attempts, by outcome.');
  // From the start, as 0: a series that begins with its first count has no rate.
  for (const outcome of ends) deliveries.with({ outcome });
  for (const outcome of outcomes) attempts.with({ outcome });
  const delay = metrics
    .histogram('millrace_webhook_first_attempt_delay_seconds', {
      help: 'Time from the commit of an event to the first byte of its first attempt.',
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300],
    })
    .with({});
  let retrying = { count: 0, at: -Infinity };
  metrics.beforeReading(async () => {
    if (retrying.at + countAge > clock.now()) return;
    retrying = { count: await resources.count(deliveryKind, {}), at: clock.now() };
  });
  const gauge = (name: string, help: string, read: () => number) => metrics.reading(name, { help, read });
  gauge(
    'millrace_webhook_retries_waiting',
    'Deliveries that wait for a retry; up to 10 s old.',
    () => retrying.count,
  );
  gauge(
    'millrace_webhook_lanes_held',
    'Lanes (events of one stream for one webhook) that wait because their endpoint takes no request now.',
    () => endpoints.counts().held,
  );
  gauge(
    'millrace_webhook_breakers_open',
    'Webhooks that are not called because of failures in a row.',
    () => endpoints.counts().broken,
  );
  return {
    ended: (outcome) => deliveries.with({ outcome }).add(),
    attempted: (outcome) => attempts.with({ outcome }).add(),
    began: (after) => delay.observe(after / 1000),
  };
}
