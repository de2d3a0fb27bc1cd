import { expect, test } from 'vitest';
import type { Kit, Plugin } from '../../../core/plugin/plugin.ts';
import { pluginMedia } from '../../../runtime/boot/plugin-media.ts';
import { fanOf } from '../../../runtime/media/publish/sample-fan.ts';
import type { SampleSubscriber } from '../../../runtime/media/publish/subscriber.ts';
import { allPlugins } from '../../kit/all-plugins.ts';
import { world } from '../../kit/world.ts';

/** Notes what it is given. */
function subscriber(isActive: boolean): SampleSubscriber & { calls: string[] } {
  const calls: string[] = [];
  const note = (name: string) => () => void calls.push(name);
  const configure = { configureVideo: note('configureVideo'), configureAudio: note('configureAudio') };
  return {
    calls,
    isActive,
    announce: note('announce'),
    ...configure,
    video: note('video'),
    audio: note('audio'),
  };
}

test('without plugins the path of a packet is what it was: the relay itself, or nothing', async () => {
  const relay = subscriber(false);
  expect(fanOf(relay, undefined)).toBe(relay);
  expect(fanOf(undefined, undefined)).toBeUndefined();
  const plan = (await allPlugins()).map((plugin) => ({ plugin }));
  expect(pluginMedia({ plan, options: { log: {} } } as never)).toBeUndefined();
});

test('several subscribers get each sample once, those alone that want any', () => {
  const [idle, one, two] = [subscriber(false), subscriber(true), subscriber(true)];
  const fan = fanOf(idle, one, two) as SampleSubscriber;
  const bytes = new Uint8Array(4);
  expect(fan.isActive).toBe(true);
  expect(fanOf(idle, subscriber(false))?.isActive).toBe(false);
  fan.announce({ hasVideo: true, hasAudio: true, frameRate: 30, videoRate: undefined, audioRate: undefined });
  fan.configureVideo({} as never);
  fan.configureAudio({} as never);
  fan.video(bytes, 0, 4, 0, true, 0, 0, 0);
  fan.audio(bytes, 0, 4, 0, 0, 0);
  const headers = ['announce', 'configureVideo', 'configureAudio'];
  expect(idle.calls).toEqual(headers);
  for (const { calls } of [one, two]) expect(calls).toEqual([...headers, 'video', 'audio']);
});

test('a grant says whose stream it is, and what fields plugins gave it', async () => {
  await using w = await world({ plugins: await allPlugins() });
  const stream = await w.given.stream({ record: true });
  const { grant } = await w.given.broadcast(stream);
  expect(grant).toMatchObject({ account: stream.userId, fields: { record: true } });
});

test('a plugin is asked with its own kit, unless it is off', () => {
  const asked: unknown[] = [];
  const plugin = { id: 'one', media: (_: unknown, kit: Kit) => void asked.push(kit) } as unknown as Plugin;
  let isOff = false;
  const media = pluginMedia({
    plan: [{ plugin }],
    kits: { of: (id: string) => `kit of ${id}` },
    failed: { isOff: () => isOff },
    options: { log: {} },
    metrics: { counter: () => ({ with: () => ({ add: () => {} }) }), readings: () => {} },
  } as never);
  const attach = () => media?.attach({ streamId: 's' } as never, {} as never);
  expect([attach(), asked]).toEqual([undefined, ['kit of one']]);
  isOff = true;
  expect([attach(), asked.length]).toEqual([undefined, 1]);
});
