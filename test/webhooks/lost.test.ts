import { expect, it } from 'vitest';
import { heldEndpoint, hookWorld, url } from './kit.ts';

it('a lane that waited for the breaker of a process that died goes on at once', async () => {
  await using w = await hookWorld({ durable: true, config: { breakerFailures: 1, firstRetry: '1h' } });
  await w.webhook();
  w.outbound.answer(url, () => ({ status: 500 }));
  const failed = await w.emit('stream.started');
  const waiting = await w.emit('stream.started');
  expect(w.sent().map(({ id }) => id)).toEqual([failed]);

  await w.crash({ downFor: '1s' });
  expect(w.sent().map(({ id }) => id)).toEqual([waiting]);
});

it('lanes that waited for a place of a process that died, and the attempts it had under way, go on at once', async () => {
  await using w = await hookWorld({ durable: true, config: { perWebhook: 2 } });
  await w.webhook();
  const endpoint = heldEndpoint(w, url);
  const ids: string[] = [];
  for (const stream of ['s1', 's2', 's3', 's4', 's5']) ids.push(await w.emit('stream.started', stream));
  expect(endpoint.waiting).toBe(2);

  await w.crash({ downFor: '1s' });
  // Each is woken when a place is free, as if nothing had happened.
  await w.advance('1s');
  expect(new Set(w.sent().map(({ id }) => id))).toEqual(new Set(ids));
});
