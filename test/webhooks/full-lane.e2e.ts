import { expect, it } from 'vitest';
import { heldEndpoint, hookWorld, url } from './kit.ts';

it('a lane reads from the event log what it has no room for: nothing is lost, in order', async () => {
  await using w = await hookWorld();
  const held = heldEndpoint(w, url);
  await w.webhook({ events: ['stream.started', 'stream.idle'] });
  const order: string[] = [];
  for (let n = 0; n < 1300; n += 1) {
    order.push(await w.emit(n % 3 ? 'stream.started' : 'stream.idle'));
    if (n % 7 === 0) await w.emit('stream.health');
  }
  for (let n = 0; n < 1100; n += 1) await held.answer();
  for (let n = 0; n < 10; n += 1) order.push(await w.emit('stream.started'));
  for (let n = 0; n < 230; n += 1) await held.answer();
  expect(w.sent().map(({ id }) => id)).toEqual(order);
});
