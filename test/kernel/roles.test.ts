import { describe, expect, it } from 'vitest';
import { definePlugin, type Plugin } from '../../core/plugin/plugin.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { world } from '../kit/world.ts';

const plugins = await allPlugins();

describe('a node without the role api', () => {
  it.each([
    ['GET', '/health/live', 200],
    ['GET', '/health/ready', 200],
    ['GET', '/metrics', 200],
    ['GET', '/hls/6pukxh2m0ydr9h3q/index.m3u8', 404, 'playback.not_live'],
    ['GET', '/api/playback/6pukxh2m0ydr9h3q', 404, 'playback.not_found'],
    ['OPTIONS', '/hls/6pukxh2m0ydr9h3q/index.m3u8', 204],
    ['GET', '/api/stream', 404, 'node.no_api'],
    ['POST', '/api/stream', 404, 'node.no_api'],
    ['GET', '/api/events', 404, 'node.no_api'],
    ['GET', '/openapi.json', 404, 'node.no_api'],
    ['GET', '/nowhere', 404, 'route.not_found'],
  ])('%s %s: %i %s', async (method, path, status, code?: string) => {
    await using w = await world({ plugins, roles: ['media', 'actors', 'worker'] });
    const answer = await w.app.handle(new Request(`http://localhost:8080${path}`, { method }));
    const text = await answer.text();
    expect(answer.status).toBe(status);
    if (code !== undefined) expect(JSON.parse(text)).toMatchObject({ code });
    if (code === 'node.no_api') expect(text).toContain('role \\"api\\"');
  });
});

it('takes no broadcasts without the role media, and all else works', async () => {
  await using w = await world({ plugins, roles: ['api', 'actors', 'worker'] });
  const stream = await w.given.stream();
  expect(w.media.isOpen).toBe(false);
  await expect(w.media.publish(stream.streamKey)).rejects.toThrow('nothing accepts broadcasts');
  expect((await w.request('GET', '/health/ready')).status).toBe(200);
});

it.each([
  [['api', 'actors'] as const, ['seen']],
  [['api', 'worker'] as const, []],
])('reacts to events with the role actors: %j', async (roles, expected) => {
  const reacted: string[] = [];
  const watcher = definePlugin({
    id: 'watcher',
    summary: 'sees events',
    emits: { 'x.y': 'now' },
    reactions: { 'x.y': async () => void reacted.push('seen') },
  }) as unknown as Plugin;
  let kit: Parameters<NonNullable<Plugin['start']>>[0] | undefined;
  const emitter = definePlugin({
    id: 'emitter',
    summary: 'emits',
    start(given) {
      kit = given as never;
      return undefined;
    },
  }) as unknown as Plugin;
  await using w = await world({ plugins: [watcher, emitter], roles });
  const event = { id: 'e1', type: 'x.y', account: 'a', stream: '', body: '{}' };
  await kit?.resources.write({ rows: [], events: [event] });
  await w.settle();
  expect(reacted).toEqual(expected);
});

it('is not ready while an engine does not answer, and does not flap', async () => {
  let answers = true;
  let hangs = false;
  const ask = async () => {
    if (hangs) return new Promise(() => {});
    if (!answers) throw new Error('no');
    return undefined;
  };
  await using w = await world({ plugins: [], engines: { store: ask, bus: async () => {} } });
  const ready = async () => (await w.request('GET', '/health/ready')).body;
  await w.advance('10s');
  expect(await ready()).toEqual({ status: 'ready' });

  answers = false;
  await w.advance('3s');
  expect(await ready()).toEqual({ status: 'ready' });
  answers = true;
  await w.advance('2s');
  answers = false;
  await w.advance('4s');
  expect(await ready()).toEqual({ status: 'ready' });
  await w.advance('3s');
  expect(await ready()).toEqual({ status: 'waiting', engines: ['store'] });
  expect(w.lines.filter((line) => line.includes('does not answer'))).toHaveLength(1);

  answers = true;
  await w.advance('1s');
  expect(await ready()).toEqual({ status: 'ready' });
  // An engine that takes the question and says nothing is no better.
  hangs = true;
  await w.advance('8s');
  expect((await w.request('GET', '/health/ready')).status).toBe(503);
});
