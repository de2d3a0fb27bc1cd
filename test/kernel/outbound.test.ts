import { expect, it } from 'vitest';
import { definePlugin, type Kit } from '../../core/plugin/plugin.ts';
import { world } from '../kit/world.ts';

it('a plugin calls out through its kit, until the program has stopped', async () => {
  let kit: Kit | undefined;
  const caller = definePlugin({
    id: 'caller',
    summary: 'Calls.',
    start(given) {
      kit = given;
      // What a plugin has in hand when it stops can still be sent.
      return async () => void (await given.outbound.request('https://receiver.example/last'));
    },
  });
  await using w = await world({ plugins: [caller] });
  w.outbound.answer('https://receiver.example/', () => ({ status: 204 }));
  expect(await kit?.outbound.request('https://receiver.example/a')).toMatchObject({ ok: true, status: 204 });
  await w.stop();
  expect(w.outbound.sent.map(({ url }) => url)).toEqual([
    'https://receiver.example/a',
    'https://receiver.example/last',
  ]);
  expect(await kit?.outbound.request('https://receiver.example/b')).toMatchObject({ reason: 'aborted' });
});
