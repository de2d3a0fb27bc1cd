import type { Decision, PlayQuestion, Plugin } from 'millrace/plugin';
import { describe, expect, it } from 'vitest';
import { uuid } from '../../../core/base/ids.ts';
import type { LiveAnswer } from '../../../core/ports/media.ts';
import type { Assets } from '../../../plugins/assets/contract.ts';
import { assetIdOf } from '../../../plugins/recordings/recording.ts';
import { allPlugins, anotherAccount } from '../../kit/all-plugins.ts';
import { assetMaker } from '../../kit/asset-maker.ts';
import { type World, world } from '../../kit/world.ts';
import { givenFilm } from '../../vod/film.ts';
import { counts, deciding, fail, hang, view } from './kit.ts';

const shipped = await allPlugins();
const sentence = 'You may not play this.';

/** A server with a live stream and an asset, and a plugin that decides about what viewers fetch. */
async function cinema(
  play: (question: PlayQuestion) => Decision | Promise<Decision>,
  options: Partial<Parameters<typeof world>[0]> = {},
) {
  const maker = assetMaker();
  const { plugin, asked } = deciding('gate', { play });
  const w = await world({ plugins: [...shipped, maker.plugin, plugin], ...options });
  servesLive(w);
  const stream = await w.given.stream({ name: 'Live' });
  const { grant } = await w.given.broadcast(stream);
  const asset = await givenAsset(w, maker, { account: stream.userId });
  return { w, maker, asked: asked.play, stream, sessionId: grant.sessionId, asset };
}

/** The media of this node has every live playlist and part. */
function servesLive(w: World): void {
  w.media.serve = ({ file }): LiveAnswer =>
    file.endsWith('.m3u8')
      ? { type: 'playlist', body: '#EXTM3U', maxAge: 1 }
      : { type: 'media', body: new Blob(['part']), size: 4 };
}

async function givenAsset(
  w: World,
  maker: { readonly assets: Assets },
  { account, id = uuid(), sessionId }: { account: string; id?: string; sessionId?: string },
) {
  const source = sessionId
    ? ({ type: 'recording', sessionId } as const)
    : ({ type: 'directUpload' } as const);
  await maker.assets.begin({ id, account, name: 'Film', source });
  const { bytes: _, ...file } = await givenFilm(w.blobs, { id });
  await maker.assets.ready(id, file);
  await w.settle();
  return (await maker.assets.find(id))!;
}

const refuse = (): Decision => ({ refuse: 'The owner has not paid.' });

describe('a plugin that decides what viewers may fetch', () => {
  it('refuses everything of a stream and of films with one sentence, and serves nothing of them', async () => {
    const { w, asked, stream, sessionId, asset, maker } = await cinema(refuse);
    await using _ = w;
    const recorded = uuid();
    const { userId: account, playbackId: live } = stream;
    const recording = await givenAsset(w, maker, { account, id: assetIdOf(recorded), sessionId: recorded });
    const film = asset.playbackId;
    const all: [path: string, what: PlayQuestion['what']][] = [
      [`/hls/${live}/index.m3u8`, 'playlist'],
      [`/hls/${live}/index.m3u8?dvr=1`, 'playlist'],
      [`/hls/${live}/source.m3u8?_HLS_msn=3&_HLS_part=1`, 'playlist'],
      [`/hls/${live}/abcdef012345_part7.1.mp4`, 'media'],
      [`/hls/${live}/thumbnail.jpg`, 'image'],
      [`/api/playback/${live}`, 'info'],
      [`/api/playback/${sessionId}`, 'info'],
      ...['index.m3u8', 'source.m3u8'].map(
        (name) => [`/asset/${film}/${name}`, 'playlist'] as [string, 'playlist'],
      ),
      [`/asset/${film}/seg0.mp4`, 'media'],
      [`/asset/${film}/init0.mp4`, 'media'],
      [`/asset/${film}/source.mp4`, 'download'],
      [`/asset/${film}/video`, 'download'],
      [`/asset/${film}/thumbnail.jpg`, 'image'],
      [`/asset/${film}/storyboard.jpg`, 'image'],
      [`/asset/${film}/storyboard.vtt`, 'image'],
      [`/api/playback/${film}`, 'info'],
      [`/recordings/${recorded}/index.m3u8`, 'playlist'],
      [`/recordings/${recorded}/seg0.mp4`, 'media'],
      [`/recordings/${recorded}/source.mp4`, 'download'],
      [`/api/playback/${recorded}`, 'info'],
    ];
    for (const [path, what] of all) {
      const { status, headers, body } = await view(w, path, { origin: 'https://site.example' });
      expect([path, status, body]).toEqual([path, 403, { errors: [sentence], code: 'playback.refused' }]);
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('access-control-allow-origin')).toBe('*');
      expect([path, asked.at(-1)?.what]).toEqual([path, what]);
    }
    expect(asked).toHaveLength(all.length);
    expect(asked.find(({ file }) => file === 'source.m3u8')).toMatchObject({
      ...{ kind: 'live', account, playbackId: live, streamId: stream.id, sessionId },
    });
    expect(asked.find(({ file }) => file === 'video')).toMatchObject({
      ...{ kind: 'asset', account, playbackId: film, assetId: asset.id },
    });
    const last = { kind: 'recording', account, sessionId: recorded, assetId: recording.id };
    expect(asked.at(-1)).toMatchObject(last);
    expect(w.lines.some((line) => line.includes('The owner has not paid.') && line.includes('"debug"'))).toBe(
      true,
    );
  });

  it('knows the viewer, by what does not change from request to request', async () => {
    const { w, asked, stream } = await cinema(() => undefined);
    await using _ = w;
    const part = `/hls/${stream.playbackId}/source.m3u8`;
    const browser = { 'user-agent': 'A browser', origin: 'https://site.example' };
    await view(w, `${part}?token=in%20query`, { ...browser, authorization: 'Bearer in-header' });
    await view(w, `${part}?_HLS_msn=2&token=in%20query`, browser);
    await view(w, part, { ...browser, authorization: 'bearer  in-header' });
    await view(w, part);
    const [one, same, header, none] = asked;
    expect(one).toMatchObject({
      ...{
        token: 'in query',
        origin: 'https://site.example',
        userAgent: 'A browser',
        address: '203.0.113.7',
      },
    });
    expect([header.token, none.token, none.userAgent, none.origin]).toEqual([
      'in-header',
      undefined,
      undefined,
      undefined,
    ]);
    expect(same.viewer).toBe(one.viewer);
    expect(new Set(asked.map(({ viewer }) => viewer)).size).toBe(3);
    expect(one.viewer).toMatch(/^[\w-]{43}$/);
    expect(one.request.headers.get('user-agent')).toBe('A browser');
  });

  it('lets others have it, whom shared caches cannot let in for it', async () => {
    const paid = ({ token }: PlayQuestion): Decision => (token === 'paid' ? undefined : { refuse: 'No.' });
    const { w, stream, asset } = await cinema(paid);
    await using _ = w;
    const kept: [path: string, cacheControl: string][] = [
      [`/hls/${stream.playbackId}/index.m3u8`, 'private, max-age=1'],
      [`/hls/${stream.playbackId}/abcdef012345_part7.1.mp4`, 'private, max-age=3600, immutable'],
      [`/asset/${asset.playbackId}/index.m3u8`, 'private, max-age=60'],
      [`/asset/${asset.playbackId}/seg0.mp4`, 'private, max-age=604800, immutable'],
      [`/asset/${asset.playbackId}/video`, 'private, max-age=3600'],
      [`/api/playback/${stream.playbackId}`, 'private, no-cache'],
      [`/oembed?url=http://localhost:8080/watch/${stream.playbackId}`, 'private, no-cache'],
    ];
    for (const [path, cacheControl] of kept) {
      expect((await view(w, path)).status).toBe(403);
      const { status, headers } = await view(w, `${path}${path.includes('?') ? '&' : '?'}token=paid`);
      expect([path, status, headers.get('cache-control')]).toEqual([path, 200, cacheControl]);
    }
    const info = await view(w, `/api/playback/${stream.playbackId}?token=paid`);
    expect([info.status, info.body.type, 'subject' in info.body]).toEqual([200, 'live', false]);
  });

  it('is not asked about what is not there', async () => {
    const { w, asked, asset } = await cinema(refuse);
    await using _ = w;
    for (const path of [
      ...['/hls/0123456789abcdef/index.m3u8', '/hls/x/index.m3u8', '/asset/0123456789abcdef/video'],
      ...[`/recordings/${uuid()}/index.m3u8`, `/api/playback/${uuid()}`, `/asset/${asset.id}/index.m3u8`],
    ])
      expect([path, (await view(w, path)).status]).toEqual([path, 404]);
    expect(asked).toEqual([]);
  });

  it('that fails is a reason to come again, not a refusal', async () => {
    const { w, stream, asset } = await cinema(fail);
    await using _ = w;
    for (const path of [`/hls/${stream.playbackId}/index.m3u8`, `/asset/${asset.playbackId}/video`]) {
      const { status, headers, body } = await view(w, path);
      expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'decision.unavailable', '5']);
      expect(headers.get('cache-control')).toBe('no-store');
    }
    const protection = { 'protection play allowed': 2, 'protection publish allowed': 1 };
    expect(await counts(w)).toEqual({ 'gate play failed': 2, ...protection });
    expect((await view(w, '/health/ready')).body.issues).toHaveLength(1);
  });

  it('that hangs for one account keeps no viewer of others waiting', async () => {
    let slow = '';
    const { w, asset } = await cinema(({ account }) => (account === slow ? hang() : undefined));
    await using _ = w;
    const other = await anotherAccount(w);
    slow = other.id;
    const body = { name: 'Theirs' };
    const theirs = (await w.request('POST', '/api/stream', { key: other.key, body })).body;
    const waiting = Array.from({ length: 50 }, () => view(w, `/hls/${theirs.playbackId}/index.m3u8`));
    expect((await view(w, `/asset/${asset.playbackId}/video`)).status).toBe(200);
    await w.advance('3s');
    expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).toEqual(new Set([503]));
  });
});

it('browsers may send a token in a header from pages of every origin', async () => {
  await using w = await world({ plugins: shipped });
  for (const path of [
    '/hls/0123456789abcdef/index.m3u8',
    '/asset/0123456789abcdef/index.m3u8',
    `/recordings/${uuid()}/x`,
  ]) {
    const headers = {
      origin: 'https://site.example',
      'access-control-request-headers': 'authorization, range',
    };
    const asked = new Request(`http://localhost:8080${path}`, { method: 'OPTIONS', headers });
    const allowed = (await w.app.handle(asked)).headers.get('access-control-allow-headers');
    expect([path, allowed]).toEqual([path, expect.stringContaining('Authorization')]);
  }
});

it('every route with media for everyone asks, but for exports, which are public, and pictures of the guides', async () => {
  await using w = await world({ plugins: shipped });
  const silent = Object.entries(w.document.paths).flatMap(([path, { get }]) => {
    const { security = [], responses } = (get ?? {}) as { security?: unknown[]; responses?: Responses };
    const types = Object.keys(responses?.[200]?.content ?? {});
    const isMedia = types.some((type) => /^(video|image|audio)\/|mpegurl/.test(type));
    const asks = responses?.[403]?.$ref?.includes('playback.refused') === true;
    return isMedia && security.length === 0 && !asks ? [path] : [];
  });
  expect(silent.toSorted()).toEqual(['/docs/guides/{file}', '/ipfs/{cid}']);
});
type Responses = Readonly<Record<number, { readonly content?: object; readonly $ref?: string }>>;

it('where nobody decides, caches may keep what they could before', async () => {
  await using w = await world({ plugins: shipped as Plugin[] });
  servesLive(w);
  const { playbackId } = await w.given.stream();
  const { headers } = await view(w, `/hls/${playbackId}/abcdef012345_part7.1.mp4`);
  expect(headers.get('cache-control')).toBe('public, max-age=3600, immutable');
});
