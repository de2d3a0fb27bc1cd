import { afterEach, expect, it, vi } from 'vitest';
import { withoutSecrets } from '../../../core/base/secrets.ts';
import { kafkaClient, withoutClasses } from '../../../runtime/drivers/bus/kafka/client.ts';
import { silentLog } from '../../kit/silent-log.ts';

afterEach(() => {
  vi.useRealTimers();
});

it('leaves connections that have nothing to send without a timer, and no other', async () => {
  vi.useFakeTimers();
  const clock = { now: () => Date.now(), at: () => () => {} };
  const first = await kafkaClient({ brokers: ['127.0.0.1:1'], clientId: 'n' }, { clock, log: silentLog });
  const second = await kafkaClient({ brokers: ['127.0.0.1:1'], clientId: 'n' }, { clock, log: silentLog });
  const { default: RequestQueue } = await import('kafkajs/src/network/requestQueue/index.js' as string);
  const queue = () => new RequestQueue({ maxInFlightRequests: 1, logger: { debug() {} } });

  const idle = queue();
  idle.scheduleCheckPendingRequests();
  expect(vi.getTimerCount()).toBe(0);

  const throttled = queue();
  throttled.maybeThrottle(500);
  throttled.scheduleCheckPendingRequests();
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(501);
  expect(vi.getTimerCount()).toBe(0);

  const busy = queue();
  busy.inflight.set(1, {});
  busy.pending.push({});
  busy.scheduleCheckPendingRequests();
  expect(vi.getTimerCount()).toBe(1);
  first.destroy();
  second.destroy();
});

it('says what went wrong in words that no mask takes for a key', () => {
  const text = 'Crash: KafkaJSGroupCoordinatorNotFound: Failed to find group coordinator';
  expect(withoutSecrets(text)).toContain('***');
  expect(withoutSecrets(withoutClasses(text))).toBe('Crash: Failed to find group coordinator');
});
