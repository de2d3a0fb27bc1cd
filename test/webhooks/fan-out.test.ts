import { expect, test } from 'vitest';
import type { LoggedEvent } from '../../core/ports/store.ts';
import type { WebhooksKit } from '../../plugins/webhooks/config.ts';
import { fanOut, sideBySideMost } from '../../plugins/webhooks/lane.ts';

test('an event reaches every webhook, and only so many at once', async () => {
  const ids = Array.from({ length: 95 }, (_, n) => `hook-${n}`);
  const reached: string[] = [];
  let running = 0;
  let most = 0;
  const kit = {
    resources: {
      list: async (_kind: string, { where }: { where: Record<string, string> }) =>
        Object.values(where)[0] === '*' ? ids.map((id) => ({ id })) : [],
      get: async () => undefined,
    },
    actors: {
      async spawn(_type: unknown, _id: string, { webhookId }: { webhookId: string }) {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        reached.push(webhookId);
      },
    },
  };
  const event = {
    id: 'e',
    type: 'stream.started',
    position: 1,
    at: 0,
    account: 'a',
    stream: 's',
    body: '{}',
  };
  await fanOut(event as LoggedEvent, kit as unknown as WebhooksKit);
  expect(reached.toSorted()).toEqual(ids.toSorted());
  expect(most).toBe(sideBySideMost);
});
