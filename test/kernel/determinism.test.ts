import { expect, it } from 'vitest';
import { uuid } from '../../core/base/ids.ts';
import type { ActorType } from '../../core/plugin/actor.ts';
import type { Plugin } from '../../core/plugin/plugin.ts';
import type { Assets } from '../../plugins/assets/contract.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { assetMaker, storeFile } from '../kit/asset-maker.ts';
import { emitter } from '../kit/emitter.ts';
import { type World, world } from '../kit/world.ts';

/** What a type of actor was asked to say of a state, and what it said, as text: nobody changes it later. */
interface Said {
  readonly actor: string;
  readonly of: 'rows' | 'describe';
  readonly args: string;
  readonly result: string;
}

/** The plugins, with every row and event of every actor noted; and how to say them once more. */
function noted(plugins: readonly Plugin[]) {
  const said: Said[] = [];
  const types = new Map<string, ActorType>();
  const tools = new Map<string, unknown>();
  const note = (type: ActorType): ActorType => {
    types.set(type.type, type);
    return {
      ...type,
      rows(context, state) {
        const result = type.rows(context, state);
        const args = JSON.stringify([context, state]);
        said.push({ actor: type.type, of: 'rows', args, result: JSON.stringify(result) });
        return result;
      },
      describe(emitted, context, step) {
        tools.set(type.type, step.tools);
        const args = JSON.stringify([emitted, context, step.at]);
        const result = type.describe(emitted, context, step);
        said.push({ actor: type.type, of: 'describe', args, result: JSON.stringify(result) });
        return result;
      },
    };
  };
  const again = ({ actor, of, args }: Said): string => {
    const type = types.get(actor) as ActorType;
    const given = JSON.parse(args);
    if (of === 'rows') return JSON.stringify(type.rows(given[0], given[1] as never));
    const step = { at: given[2], tools: tools.get(actor) };
    return JSON.stringify(type.describe(given[0], given[1], step));
  };
  const wrapped = plugins.map((plugin) => ({
    ...plugin,
    ...(plugin.actors && { actors: plugin.actors.map(note) }),
  }));
  return { plugins: wrapped as Plugin[], said, types, tools, again };
}

/** Every type of actor goes through most of what can happen to it. */
async function life(
  w: World,
  emit: (event: { type: string; account: string; stream: string }) => Promise<unknown>,
  assets: Assets,
) {
  const hooks = ['https://well.example/', 'https://ill.example/'];
  w.outbound.answer('https://well.example/', () => ({ status: 200 }));
  w.outbound.answer('https://ill.example/', () => ({ status: 500 }));
  for (const url of hooks) {
    const events = ['stream.started', 'stream.idle', 'stream.health'];
    await w.request('POST', '/api/webhook', { body: { name: 'Hook', url, events } });
  }
  const profiles = [{ name: 'low', width: 640, height: 360, bitrate: 400_000, fps: 30 }];
  const targets = [{ profile: 'source', spec: { url: 'rtmp://a.example/live' } }];
  const stream = await w.given.stream({ record: true, profiles, holdSeconds: 5, multistream: { targets } });
  const first = await w.given.broadcast(stream);
  await w.media.publish(stream.streamKey);
  await w.advance('2s');
  w.pusher.fails(stream.playbackId, 'connect');
  w.pusher.connects(stream.playbackId);
  w.pusher.slows(stream.playbackId);
  await w.request('PATCH', `/api/stream/${stream.id}`, { body: { name: 'Another', suspended: false } });
  first.end({ clean: false });
  await w.advance('10s');
  const { userId: account, id } = stream;
  for (let n = 0; n < 5; n += 1) {
    const publish = await w.given.broadcast(stream);
    await w.advance('1s');
    publish.end({ clean: n % 2 === 0 });
    await w.advance('7s');
    await emit({ type: 'stream.started', account, stream: id });
  }
  const source = { type: 'recording', sessionId: id } as const;
  const [asset, failing] = [uuid(), uuid()];
  for (const one of [asset, failing]) await assets.begin({ id: one, account, name: 'A', source });
  await assets.ready(asset, await storeFile(w.blobs, asset));
  await assets.fail(failing, 'No.');
  const exported = { custom: { url: 'https://well.example/film.mp4' } };
  await w.request('POST', `/api/asset/${asset}/export`, { body: exported });
  await w.request('PATCH', `/api/asset/${asset}`, { body: { name: 'B' } });
  await w.request('DELETE', `/api/asset/${asset}`);
  await w.request('POST', '/api/asset/import', { body: { url: 'https://films.example/a.mp4' } });
  await w.request('POST', `/api/stream/${stream.id}/rotate-key`);
  await w.advance('4m');
  await w.request('DELETE', `/api/stream/${stream.id}`);
  await w.advance('70s');
  return stream;
}

it('a step says the same at another time, in another process, with other things in memory', async () => {
  const plugins = await allPlugins();
  const [one, maker] = [emitter(), assetMaker()];
  const first = noted([...plugins, one.plugin, maker.plugin]);
  {
    await using w = await world({ plugins: first.plugins, config: { streams: { busyKey: 'refuse' } } });
    await life(w, one.emit, maker.assets);
  }
  const actors = new Set(first.said.map(({ actor }) => actor));
  expect([...actors].sort()).toEqual([...first.types.keys()].sort());
  expect(first.said.filter(({ of }) => of === 'describe').length).toBeGreaterThan(8);

  const [two, other] = [emitter(), assetMaker()];
  const second = noted([...plugins, two.plugin, other.plugin]);
  const start = Date.UTC(2031, 5, 5);
  await using w = await world({ plugins: second.plugins, config: { streams: { busyKey: 'refuse' } }, start });
  await life(w, two.emit, other.assets);
  for (const one of first.said) expect([one.actor, second.again(one)]).toEqual([one.actor, one.result]);
});

it('a step is given nothing that differs from node to node', async () => {
  const plugins = await allPlugins();
  const seen = noted(plugins);
  await using w = await world({ plugins: seen.plugins });
  const stream = await w.given.stream();
  await w.given.broadcast(stream);
  expect(Object.keys(seen.tools.get('broadcast') as object).sort()).toEqual([
    'config',
    'fields',
    'publicUrl',
  ]);
});

it('is a test that finds what depends on the time', async () => {
  const plugins = (await allPlugins()).map((plugin) =>
    plugin.id === 'streams' ? { ...plugin, actors: plugin.actors?.map(timely) } : plugin,
  );
  let now = 0;
  function timely(type: ActorType): ActorType {
    const describe: ActorType['describe'] = (emitted, context, step) => {
      now += 1;
      const { body, ...rest } = type.describe(emitted, context, step);
      return { ...rest, body: { ...body, now } };
    };
    return { ...type, describe };
  }
  const seen = noted(plugins as Plugin[]);
  await using w = await world({ plugins: seen.plugins });
  await w.given.broadcast(await w.given.stream());
  const described = seen.said.filter(({ of }) => of === 'describe');
  expect(described.every((one) => seen.again(one) === one.result)).toBe(false);
});
