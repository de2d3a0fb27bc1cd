import { Fault } from '../../core/base/fault.ts';
import type { WebhooksKit } from './kit.ts';

/**
 * Bounds what people send by hand, in this process: so many a minute for an account, and one at a time for a webhook, so
 * that nobody turns `test` and `resend` into a way to flood others. Faults: `webhook.too_many_attempts` (429).
 */
export function manualAttempts({ clock, config }: Pick<WebhooksKit, 'clock' | 'config'>) {
  const running = new Set<string>();
  let minute = 0;
  let counts = new Map<string, number>();
  return async <T>({ id, account }: { id: string; account: string }, run: () => Promise<T>): Promise<T> => {
    const now = clock.now();
    if (Math.floor(now / 60_000) !== minute) {
      minute = Math.floor(now / 60_000);
      counts = new Map();
    }
    const count = counts.get(account) ?? 0;
    const retryAfter = 60 - (Math.floor(now / 1000) % 60);
    if (count >= config.manualPerMinute) {
      throw refusal(`This account has sent ${count} in this minute; try again in the next one.`, retryAfter);
    }
    if (running.has(id)) throw refusal('Another one for this webhook is still under way.', 1);
    counts.set(account, count + 1);
    running.add(id);
    try {
      return await run();
    } finally {
      running.delete(id);
    }
  };
}

function refusal(message: string, retryAfter: number): Fault {
  return new Fault('webhook.too_many_attempts', { status: 429, message, retryAfter });
}
