import type { Counter } from '../../core/base/metrics.ts';
import { token } from '../../core/plugin/token.ts';
import { deliveryKind } from './delivery.ts';
import type { Endpoints } from './endpoints.ts';
import type { WebhooksKit } from './kit.ts';
import { webhookLimits } from './limits.ts';
import type { SentOutcome } from './send.ts';

/** `gone`: the endpoint wants no more of it (410). `expired`: the time was up. */
const ends = ['delivered', 'gone', 'expired'] as const;
const outcomes: readonly SentOutcome[] = [
  ...(['2xx', '3xx', '4xx', '5xx', 'timeout', 'network', 'tls', 'refused', 'ours'] as const),
];

/** What the metrics tell of webhooks: no ids, no URLs, no names. */
export interface WebhookCounts {
  /** A delivery is over. */
  ended(how: (typeof ends)[number]): void;
  attempted(outcome: SentOutcome): void;
  /** The first byte of a first attempt was sent so many ms after the event's commit. */
  began(after: number): void;
}

export const webhookCounts = token<WebhookCounts>('webhooks.counts');

export function countWebhooks(kit: WebhooksKit, { gate }: { gate: Endpoints }): WebhookCounts {
  const { metrics, resources, clock } = kit;
  const named = <T extends string>(names: readonly T[], make: (name: T) => Counter) =>
    Object.fromEntries(names.map((name) => [name, make(name)])) as Record<T, Counter>;
  const deliveries = metrics.counter(
    'millrace_webhook_deliveries_total',
    'Deliveries that are over, by how.',
  );
  const byEnd = named(ends, (outcome) => deliveries.with({ outcome }));
  const attempts = metrics.counter('millrace_webhook_attempts_total', 'Attempts at deliveries, by outcome.');
  const byOutcome = named(outcomes, (outcome) => attempts.with({ outcome }));
  const delay = metrics
    .histogram('millrace_webhook_first_attempt_delay_seconds', {
      help: 'From the commit of an event to the first byte of its first attempt.',
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300],
    })
    .with({});

  let retrying = { count: 0, at: -Infinity };
  metrics.beforeReading(async () => {
    if (retrying.at + webhookLimits.countAge > clock.now()) return;
    retrying = { count: await resources.count(deliveryKind, {}), at: clock.now() };
  });
  metrics.reading('millrace_webhook_retries_waiting', {
    help: 'Deliveries whose first attempt failed and that wait for the next; up to 10 s old.',
    read: () => retrying.count,
  });
  metrics.reading('millrace_webhook_lanes_held', {
    help: 'Lanes whose next event waits because the endpoint takes nothing now.',
    read: () => gate.counts().held,
  });
  metrics.reading('millrace_webhook_breakers_open', {
    help: 'Webhooks that are left alone after failures in a row.',
    read: () => gate.counts().broken,
  });
  return {
    ended: (how) => byEnd[how].add(),
    attempted: (outcome) => byOutcome[outcome].add(),
    began: (after) => delay.observe(after / 1000),
  };
}
