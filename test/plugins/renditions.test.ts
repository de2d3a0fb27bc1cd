import { describe, expect, it } from 'vitest';
import type { Plugin } from '../../core/plugin/plugin.ts';
import { transcodeReasons } from '../../core/ports/transcoder.ts';
import accounts from '../../plugins/accounts/index.ts';
import events from '../../plugins/events/index.ts';
import health from '../../plugins/health/index.ts';
import renditions from '../../plugins/renditions/index.ts';
import streams from '../../plugins/streams/index.ts';
import { sharedWorld } from '../kit/shared-world.ts';
import { type World, world } from '../kit/world.ts';

const plugins = [accounts, streams, renditions] as unknown as Plugin[];
const profile = { name: '720p', width: 1280, height: 720, bitrate: 2_000_000, fps: 30 };

/** For requests that are refused. */
const unchanged = sharedWorld({ plugins });

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
    const w = await unchanged();
    const body = { name: 'x', profiles: [{ ...profile, ...wrong }] };
    const answer = await w.request('POST', '/api/stream', { body });
    expect([answer.status, answer.body.code]).toEqual([422, 'body.invalid']);
    expect(answer.body.errors.join()).toContain(`${name}:`);
  });

  it('have at least a picture in 10 s, for streams and in the config', async () => {
    await using w = await world({ plugins });
    const at = async (fps: number, fpsDen: number) => {
      const body = { name: 'x', profiles: [{ ...profile, fps, fpsDen }] };
      const { status, body: said } = await w.request('POST', '/api/stream', { body });
      return [status, said.code, `${said.errors ?? ''}`];
    };
    expect((await at(1, 10))[0]).toBe(201);
    expect((await at(0, 1e15))[0]).toBe(201);
    const words = 'profiles.0.fps: expected 0, or at least a picture in 10 s (fps / fpsDen)';
    for (const [fps, fpsDen] of [
      [1, 11],
      [30, 1e15],
    ])
      expect(await at(fps, fpsDen)).toEqual([400, 'renditions.invalid', words]);
    const config = { renditions: { profiles: [{ ...profile, fpsDen: 1e15 }] } };
    await expect(world({ plugins, config })).rejects.toThrow(`plugins.renditions.${words}`);
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
    const answer = await w.request('POST', '/api/stream', { body: { name: 'x', profiles: [profile] } });
    expect([answer.status, answer.body.errors]).toEqual([422, ['profiles: unknown field']]);
  });

  it('of the config are checked at the start', async () => {
    const start = (profiles: unknown[]) => world({ plugins, config: { renditions: { profiles } } });
    await expect(start([{ ...profile, width: 1 }])).rejects.toThrow('plugins.renditions.profiles.0.width');
    await expect(start([profile, profile])).rejects.toThrow('plugins.renditions.profiles.1.name');
  });
});

describe('the renditions of a broadcast', () => {
  const live = async (w: World, options: { profiles?: unknown[] } = {}) => {
    const stream = await w.given.stream({ profiles: options.profiles ?? [profile] });
    const publish = await w.given.broadcast(stream);
    return { stream, publish, playbackId: stream.playbackId as string };
  };
  const shown = async (w: World, id: string) => {
    await w.advance('3s');
    const { issues, isHealthy } = (await w.request('GET', `/api/stream/${id}`)).body;
    return { issues, isHealthy };
  };
  const renditionsOf = (...names: string[]) => names.map((name) => ({ name, isListed: false }));

  it('are granted with each publish of a session, as they were when it began', async () => {
    await using w = await world({ plugins });
    const { stream, publish } = await live(w);
    expect(publish.grant.profiles).toEqual([profile]);
    await w.request('PATCH', `/api/stream/${stream.id}`, { body: { profiles: [] } });
    publish.end({ clean: false });
    await w.settle();
    const again = await w.media.publish(stream.streamKey);
    expect(again.grant.sessionId).toBe(publish.grant.sessionId);
    expect(again.grant.profiles).toEqual([profile]);
    const other = await live(w, { profiles: [] });
    expect(other.publish.grant).not.toHaveProperty('profiles');
  });

  it('stand in one line of plain text, whatever they are called', async () => {
    await using w = await world({ plugins });
    const name = 'a\nAll is well.\u202eb\u2028\u{e0041}é 🎬';
    const { stream, playbackId } = await live(w, { profiles: [{ ...profile, name }] });
    const trouble = { reason: 'slow', message: 'This server encodes them too slowly.' } as const;
    w.transcoder.shows(playbackId, { renditions: renditionsOf(name), trouble });
    const [issue] = (await shown(w, stream.id)).issues;
    expect(issue).toContain('not a\\u{000a}All is well.\\u{202e}b\\u{2028}\\u{e0041}é 🎬: this server');
    expect(issue).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}]/u);
  });

  it('have no issue while they come', async () => {
    await using w = await world({ plugins });
    const { stream, playbackId } = await live(w);
    w.transcoder.shows(playbackId, { renditions: renditionsOf('720p') });
    expect(await shown(w, stream.id)).toEqual({ issues: [], isHealthy: true });
  });

  it('beyond what one broadcast has are named, and hurt no health', async () => {
    await using w = await world({ plugins });
    const names = Array.from({ length: 18 }, (_, index) => `p${index + 1}`);
    const { stream, playbackId } = await live(w, { profiles: names.map((name) => ({ ...profile, name })) });
    w.transcoder.shows(playbackId, { renditions: renditionsOf(...names.slice(0, 16)) });
    expect(await shown(w, stream.id)).toEqual({
      issues: ['A broadcast has at most 16 renditions: the first of profiles are made, p17, p18 are not.'],
      isHealthy: true,
    });
  });

  it('say what is wrong with them, what to do, and when they are tried again', async () => {
    await using w = await world({ plugins });
    const { stream, playbackId } = await live(w);
    const trouble = { reason: 'broken', message: 'ffmpeg ended in the middle of the broadcast.' } as const;
    const renditions = renditionsOf('720p', '240p');
    w.transcoder.shows(playbackId, { state: 'waiting', renditions, trouble, retryAt: w.now() + 30_000 });
    const { issues, isHealthy } = await shown(w, stream.id);
    expect(issues).toEqual([
      expect.stringMatching(
        /^Viewers get the source alone, not 720p, 240p: ffmpeg ended in the middle of the broadcast\. .* The next attempt is in 2\d s\.$/,
      ),
    ]);
    expect(isHealthy).toBe(false);
    const back = renditions.map(({ name }) => ({ name, isListed: true }));
    w.transcoder.shows(playbackId, { renditions: back, trouble });
    expect((await shown(w, stream.id)).issues).toEqual([
      'Renditions (720p, 240p) were missing for a while and are back: ffmpeg ended in the middle of the broadcast.',
    ]);
    w.transcoder.shows(playbackId, { renditions });
    expect(await shown(w, stream.id)).toEqual({ issues: [], isHealthy: true });
  });

  it.each(transcodeReasons)(
    'have words for every trouble, and hurt health unless nothing broke: %s',
    async (reason) => {
      await using w = await world({ plugins });
      const { stream, playbackId } = await live(w);
      const message = 'This server does not.';
      w.transcoder.shows(playbackId, {
        ...{ state: 'refused', renditions: renditionsOf('720p') },
        trouble: { reason, message },
      });
      const { issues, isHealthy } = await shown(w, stream.id);
      expect(issues).toEqual([
        expect.stringMatching(
          /^Viewers get the source alone, not 720p: this server does not\. [A-Z].{20,}\.$/,
        ),
      ]);
      expect(isHealthy).toBe(['capacity', 'processes', 'source'].includes(reason));
      const key = { missing: 'ffmpeg.path', processes: 'ffmpeg.processes', capacity: 'renditions.capacity' };
      expect(issues[0]).toContain(key[reason as keyof typeof key] ?? '');
    },
  );

  it('that break are told in stream.health, and so is that they are back', async () => {
    await using w = await world({ plugins: [...plugins, events, health] as unknown as Plugin[] });
    const { playbackId } = await live(w);
    await w.advance('2s');
    const trouble = { reason: 'slow', message: 'This server encodes them more slowly.' } as const;
    const state = { state: 'waiting', renditions: renditionsOf('720p'), trouble } as const;
    for (let retryAt = w.now() + 20_000; w.now() < retryAt; ) {
      w.transcoder.shows(playbackId, { ...state, retryAt });
      await w.advance('1s');
    }
    w.transcoder.shows(playbackId, { renditions: renditionsOf('720p') });
    await w.advance('20s');
    const told = (await w.events()).filter(({ event }) => event === 'stream.health');
    const healths = told.map(({ payload }) => (payload as { health: object }).health);
    // No media comes in this test, which is another matter.
    const ours = (one: { issues?: string[] }) => one.issues?.some((issue) => issue.startsWith('Viewers get'));
    expect(healths.filter(ours)).toHaveLength(1);
    const path = `/api/stream/${told[0].stream?.id}/health`;
    const points: { issues: string[] }[] = (await w.request('GET', path)).body;
    expect(points.some(ours)).toBe(true);
    expect(ours(points.at(-1) ?? {})).toBe(false);
    // However long it waited, it is one text: a countdown would fill the history.
    expect(
      new Set(points.flatMap(({ issues }) => issues.filter((one) => one.startsWith('Viewers')))).size,
    ).toBe(1);
  });

  it('are counted', async () => {
    await using w = await world({ plugins });
    w.transcoder.counts({
      ...{ ladders: 2, pixelRate: 30_000_000, capacity: 64_000_000, pictures: 500, restarts: 3 },
      troubles: { broken: 3 },
    });
    const answer = await w.app.handle(new Request('http://localhost:8080/metrics'));
    const text = await answer.text();
    for (const line of [
      'millrace_renditions_broadcasts 2',
      'millrace_renditions_pixels_per_second 30000000',
      'millrace_renditions_capacity_pixels_per_second 64000000',
      'millrace_renditions_pictures_total 500',
      'millrace_renditions_restarts_total 3',
      'millrace_renditions_troubles_total{reason="broken"} 3',
      'millrace_renditions_troubles_total{reason="missing"} 0',
    ])
      expect(text).toContain(`${line}\n`);
  });
});
