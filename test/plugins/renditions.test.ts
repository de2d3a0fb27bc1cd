import { describe, expect, it } from 'vitest';
import type { Plugin } from '../../core/plugin.ts';
import accounts from '../../plugins/accounts/index.ts';
import renditions from '../../plugins/renditions/index.ts';
import streams from '../../plugins/streams/index.ts';
import { world } from '../kit/world.ts';

const plugins = [accounts, streams, renditions] as unknown as Plugin[];
const profile = { name: '720p', width: 1280, height: 720, bitrate: 2_000_000, fps: 30 };

describe('the profiles of a stream', () => {
  it('are none by default, without an issue', async () => {
    await using w = await world({ plugins });
    expect(await w.given.stream()).toMatchObject({ profiles: [], issues: [] });
  });

  it('come from the config when the creator names none, and stay as they were', async () => {
    const config = { renditions: { profiles: [profile] } };
    await using w = await world({ plugins, config });
    const stream = await w.given.stream();
    expect(stream.profiles).toEqual([profile]);
    expect((await w.given.stream({ profiles: [] })).profiles).toEqual([]);
  });

  it('take every field of the table, and its least values', async () => {
    await using w = await world({ plugins });
    const full = { ...profile, fpsDen: 1, gop: '2.5', profile: 'H264High', encoder: 'H.264' };
    const least = { name: 'x', width: 128, height: 128, bitrate: 400, fps: 0, gop: 'intra' };
    const stream = await w.given.stream({ profiles: [full, least] });
    expect(stream.profiles).toEqual([full, least]);
    expect((await w.request('GET', `/api/stream/${stream.id}`)).body.profiles).toEqual([full, least]);
    expect((await w.request('PATCH', `/api/stream/${stream.id}`, { body: stream })).status).toBe(204);
  });

  it('say in the issues that nothing makes them, and hurt no health', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream({ profiles: [profile] });
    await w.given.broadcast(stream);
    const { body } = await w.request('GET', `/api/stream/${stream.id}`);
    expect(body.issues).toEqual([expect.stringContaining('720p')]);
    expect(body.isHealthy).toBe(true);
    await w.request('PATCH', `/api/stream/${stream.id}`, { body: { profiles: [] } });
    expect((await w.request('GET', `/api/stream/${stream.id}`)).body.issues).toEqual([]);
  });

  it.each([
    [{ name: '' }, 'profiles.0.name'],
    [{ name: 'x'.repeat(501) }, 'profiles.0.name'],
    [{ name: undefined }, 'profiles.0.name'],
    [{ width: 127 }, 'profiles.0.width'],
    [{ width: undefined }, 'profiles.0.width'],
    [{ height: 127 }, 'profiles.0.height'],
    [{ height: 720.5 }, 'profiles.0.height'],
    [{ bitrate: 399 }, 'profiles.0.bitrate'],
    [{ bitrate: undefined }, 'profiles.0.bitrate'],
    [{ fps: -1 }, 'profiles.0.fps'],
    [{ fps: undefined }, 'profiles.0.fps'],
    [{ fpsDen: 0 }, 'profiles.0.fpsDen'],
    [{ gop: 'often' }, 'profiles.0.gop'],
    [{ gop: '0.0' }, 'profiles.0.gop'],
    [{ gop: 2 }, 'profiles.0.gop'],
    [{ profile: 'H264' }, 'profiles.0.profile'],
    [{ encoder: 'VP9' }, 'profiles.0.encoder'],
    [{ colour: 'blue' }, 'profiles.0.colour'],
  ])('are refused with the field named: %j', async (wrong, name) => {
    await using w = await world({ plugins });
    const body = { name: 'x', profiles: [{ ...profile, ...wrong }] };
    const answer = await w.request('POST', '/api/stream', { body });
    expect([answer.status, answer.body.code]).toEqual([422, 'body.invalid']);
    expect(answer.body.errors.join()).toContain(`${name}:`);
  });

  it.each([
    [[profile, { ...profile, width: 640 }], '720p'],
    [[{ ...profile, name: 'source' }], 'source'],
  ])('are refused with a name that is taken: %#', async (profiles, name) => {
    await using w = await world({ plugins });
    const { id } = await w.given.stream();
    for (const [method, path] of [
      ['POST', '/api/stream'],
      ['PATCH', `/api/stream/${id}`],
    ]) {
      const answer = await w.request(method, path, { body: { name: 'x', profiles } });
      expect([answer.status, answer.body.code]).toEqual([400, 'renditions.invalid']);
      expect(answer.body.errors.join()).toContain(name);
    }
    expect((await w.request('GET', `/api/stream/${id}`)).body).toMatchObject({ profiles: [] });
  });

  it('stay in a session as they were when it began', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream({ profiles: [profile] });
    const { grant, end } = await w.given.broadcast(stream);
    await w.request('PATCH', `/api/stream/${stream.id}`, { body: { profiles: [] } });
    const path = `/api/stream/${grant.sessionId}`;
    expect((await w.request('GET', path)).body.profiles).toEqual([profile]);
    end({ clean: true });
    await w.settle();
    // Nothing can be mended any more.
    expect((await w.request('GET', path)).body).toMatchObject({ profiles: [profile], issues: [] });
  });

  it('are unknown while the plugin is off', async () => {
    await using w = await world({ plugins: [accounts, streams] as unknown as Plugin[] });
    const answer = await w.request('POST', '/api/stream', { body: { name: 'x', profiles: [] } });
    expect([answer.status, answer.body.errors]).toEqual([422, ['profiles: unknown field']]);
  });

  it('of the config are checked at the start', async () => {
    const start = (profiles: unknown[]) => world({ plugins, config: { renditions: { profiles } } });
    await expect(start([{ ...profile, width: 1 }])).rejects.toThrow('plugins.renditions.profiles.0.width');
    await expect(start([profile, profile])).rejects.toThrow('plugins.renditions.profiles.1.name');
  });
});
