import { expect, test } from 'vitest';
import type { LoggedEvent } from '../../core/ports/store.ts';
import type { Refilled } from '../../machines/webhook-lane.ts';
import { refillEffect, refillPages } from '../../plugins/webhooks/lane.ts';

const account = 'account';
const webhook = { id: 'hook', account, events: ['stream.started'], streamId: null };

/** A log of `length` events at the positions 1, 2, …; those at `own` are the lane's, the others of another stream. */
function refill({ length, own }: { length: number; own: readonly number[] }) {
  let reads = 0;
  const kit = {
    resources: { get: async () => ({ account, body: JSON.stringify(webhook) }) },
    events: {
      async after(position: number, { limit }: { limit: number }) {
        reads += 1;
        const there = Math.max(0, Math.min(limit, length - position));
        return Array.from({ length: there }, (_, n) => {
          const at = position + 1 + n;
          const stream = own.includes(at) ? 'stream' : 'other';
          return { type: 'stream.started', stream, position: at } as LoggedEvent;
        });
      },
    },
  };
  return async (after: number) => {
    reads = 0;
    const input = { account, webhookId: webhook.id, streamId: 'stream', after, limit: 10 };
    const job = { input, signal: new AbortController().signal };
    const run = refillEffect.run as unknown as (given: typeof job, within: typeof kit) => Promise<Refilled>;
    return { ...(await run(job, kit)), reads };
  };
}

test('what others filled the log with is read in stretches, each of which is kept', async () => {
  const length = 30_010;
  const read = refill({ length, own: [29_999] });
  const positions: number[] = [];
  let last = 0;
  for (let hasMore = true; hasMore; ) {
    const stretch = await read(last);
    expect(stretch.reads).toBeLessThanOrEqual(refillPages);
    expect(stretch.last).toBeGreaterThan(last);
    positions.push(...stretch.positions);
    ({ last, hasMore } = stretch);
  }
  expect(positions).toEqual([29_999]);
  expect(last).toBe(length);
});

test('no more is read than the lane has room for', async () => {
  const read = refill({ length: 500, own: Array.from({ length: 40 }, (_, n) => n + 1) });
  expect(await read(0)).toMatchObject({ last: 10, hasMore: true });
  expect(await read(40)).toMatchObject({ positions: [], last: 500, hasMore: false });
});
