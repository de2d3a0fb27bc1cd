import { describe, expect, it } from 'vitest';
import { readConfig } from '../../config/load.ts';
import type { Plugin } from '../../core/plugin/plugin.ts';
import accounts from '../../plugins/accounts/index.ts';
import ingest from '../../plugins/ingest/index.ts';
import { type FleetNode, fleet } from '../kit/fleet.ts';
import { world } from '../kit/world.ts';

const plugins = [accounts, ingest] as unknown as Plugin[];
const media = { roles: ['media'] } as const;
const api = { roles: ['api', 'actors', 'worker'] } as const;
const all = async (node: FleetNode) => (await node.request('GET', '/api/ingest?first=false')).body;
const places = async (node: FleetNode) => (await all(node)).map((one: { ingest: string }) => one.ingest);

describe('ingest discovery on a fleet', () => {
  it('names the living nodes that take broadcasts, and none that has died or left', async () => {
    await using f = await fleet({ plugins });
    const a = await f.start('a', api);
    const none = await a.request('GET', '/api/ingest');
    expect([none.status, none.body.code, none.headers.get('retry-after')]).toEqual([
      503,
      'ingest.no_node',
      '5',
    ]);
    const one = await f.start('m1', media);
    const two = await f.start('m2', media);
    await f.advance('4s');
    expect((await a.request('GET', '/api/ingest')).body).toEqual([
      { ingest: 'rtmp://m1:1935/live', playback: 'http://localhost:8080/hls' },
    ]);
    expect(await places(a)).toEqual(['rtmp://m1:1935/live', 'rtmp://m2:1935/live']);
    one.cut();
    await f.advance('15s');
    expect(await places(a)).toEqual(['rtmp://m2:1935/live']);
    const leaving = two.booted.stop();
    await f.advance('4s');
    await leaving;
    expect((await a.request('GET', '/api/ingest?first=false')).status).toBe(503);
  });

  it('puts nodes of its own region first, and an address that several name is there once', async () => {
    await using f = await fleet({ plugins });
    const a = await f.start('a', { ...api, region: 'fra' });
    await f.start('m1', { ...media, region: 'nyc' });
    for (const id of ['m2', 'm3'])
      await f.start(id, { ...media, region: 'fra', ingestUrl: 'rtmps://fra-rtmp.example.com/live' });
    await f.advance('4s');
    const base = 'http://localhost:8080';
    const rest = { playback: `${base}/hls`, base };
    expect(await all(a)).toEqual([
      { ingest: 'rtmps://fra-rtmp.example.com/live', ...rest, region: 'fra' },
      { ingest: 'rtmp://m1:1935/live', ...rest, region: 'nyc' },
    ]);
  });
});

it('a node alone that takes no broadcasts says so', async () => {
  await using w = await world({ plugins, roles: ['api', 'actors', 'worker'] });
  expect((await w.request('GET', '/api/ingest')).body).toMatchObject({ code: 'ingest.no_node' });
});

it.each([
  [{ MILLRACE_REGION: 'fra', MILLRACE_NODE__INGEST_URL: 'rtmp://fra.example.com/live' }, ''],
  [{ MILLRACE_REGION: 'Frankfurt' }, 'region: expected three lower-case letters'],
  [{ MILLRACE_NODE__INGEST_URL: 'http://fra.example.com/live' }, 'node.ingestUrl: expected a URL such as'],
  [{ MILLRACE_NODE__INGEST_URL: 'rtmp://fra.example.com' }, 'node.ingestUrl: expected a URL such as'],
])('the config names region and address of a node: %j', async (env, problem) => {
  const { problems } = await readConfig(env as NodeJS.ProcessEnv);
  expect(problems.join()).toContain(problem);
  if (problem === '') expect(problems).toEqual([]);
});
