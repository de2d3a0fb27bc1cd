import { Fault } from '../../../core/base/fault.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Json, Volatile } from '../../../core/ports/volatile.ts';

/** Entries of a deployment, about 1 KB each for live figures. */
export const mostEntries = 200_000;
/** Least time between two sweeps of expired entries, ms. */
const sweepInterval = 10_000;

/** Facts in the memory of this process, for a deployment of one node. It sets no timers. */
export function memoryVolatile(options: { clock: Clock; entries?: number }): Volatile {
  const { clock, entries: most = mostEntries } = options;
  const kept = new Map<string, Entry>();
  const listeners = new Map<string, Set<(message: Json) => void>>();
  let sweptAt = clock.now();

  const sweep = (now: number) => {
    sweptAt = now;
    for (const [key, { until }] of kept) if (until <= now) kept.delete(key);
  };

  return {
    async set(entries, { lasts }) {
      const now = clock.now();
      if (now - sweptAt >= sweepInterval) sweep(now);
      // At most once for each millisecond, however many are refused.
      else if (kept.size + entries.length > most && sweptAt !== now) sweep(now);
      let refused = 0;
      for (const { key, value } of entries) {
        if (kept.size >= most && !kept.has(key)) refused += 1;
        else kept.set(key, { text: JSON.stringify(value), until: now + lasts });
      }
      if (refused === 0) return;
      const message = `${most} facts are kept already; ${refused} new ones were refused`;
      throw new Fault('volatile.full', { status: 503, message, retryAfter: 5 });
    },
    async get(keys) {
      const now = clock.now();
      return keys.map((key) => {
        const found = kept.get(key);
        return found && found.until > now ? JSON.parse(found.text) : undefined;
      });
    },
    async announce(topic, message) {
      const text = JSON.stringify(message);
      // A copy, so that a listener may remove itself meanwhile.
      for (const hear of [...(listeners.get(topic) ?? [])]) hear(JSON.parse(text));
    },
    listen(topic, hear) {
      const own = listeners.get(topic) ?? new Set();
      listeners.set(topic, own.add(hear));
      return () => {
        own.delete(hear);
        if (own.size === 0 && listeners.get(topic) === own) listeners.delete(topic);
      };
    },
    async close() {
      listeners.clear();
    },
  };
}

interface Entry {
  /** JSON, so that no caller can change what is stored. */
  readonly text: string;
  /** Epoch ms. */
  readonly until: number;
}
