import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server as HttpServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { broadcast } from '../e2e/harness/ffmpeg.ts';
import { type Server, startServer } from '../e2e/harness/server.ts';
import { until } from '../e2e/harness/wait.ts';

/** `@mux/mux-node` as it is published, against a real server: a base URL and a key are all that it is given. */
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'millrace-mux-node-'));
let server: Server;
const published = join(import.meta.dirname, 'node_modules/@mux/mux-node/index.mjs');
// biome-ignore lint/suspicious/noExplicitAny: its types are only there once e2e has installed it
const { default: Mux } = (await import(published)) as any;
// biome-ignore lint/suspicious/noExplicitAny: as above
let mux: any;
let film: Buffer;
let web: HttpServer;
let webUrl: string;
const received: { headers: IncomingHttpHeaders; body: string }[] = [];

beforeAll(async () => {
  const path = join(folder, 'film.mp4');
  const picture = ['-f', 'lavfi', '-i', 'testsrc2=size=320x180:rate=25:duration=2'];
  const sound = ['-f', 'lavfi', '-i', 'sine=frequency=440:duration=2'];
  const codecs = ['-pix_fmt', 'yuv420p', '-c:v', 'libx264', '-preset', 'ultrafast', '-c:a', 'aac'];
  await run('ffmpeg', ['-v', 'error', '-y', ...picture, ...sound, ...codecs, path]);
  film = readFileSync(path);
  // Films to import, and a receiver of webhooks.
  web = createServer((request, answer) => {
    if (request.method === 'GET') return answer.end(film);
    let body = '';
    request.setEncoding('utf8').on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      received.push({ headers: request.headers, body });
      answer.end();
    });
    return undefined;
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  webUrl = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
  server = await startServer({ env: { MILLRACE_PLUGINS: JSON.stringify({ 'mux-compat': {} }) } });
  const made = await server.api.request('POST', '/api/api-token', { name: 'mux-node' });
  const { id, key } = (await made.json()) as { id: string; key: string };
  mux = new Mux({ baseURL: `${server.url}/mux`, tokenId: id, tokenSecret: key });
}, 120_000);

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  web?.closeAllConnections();
  web?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** What ffprobe finds at a URL: codecs. */
async function probed(url: string): Promise<string[]> {
  const show = ['-show_entries', 'stream=codec_name', '-of', 'csv=p=0'];
  const { stdout } = await run('ffprobe', ['-v', 'error', ...show, url], { timeout: 30_000 });
  return [...new Set(stdout.trim().split('\n').filter(Boolean))].sort();
}

const statusOf = (call: Promise<unknown>) =>
  call.then(
    () => 200,
    (error: { status?: number }) => error.status,
  );

const events = () => received.map(({ body }) => JSON.parse(body) as { type: string; object: { id: string } });
const told = (id: string) =>
  events()
    .filter(({ object }) => object.id === id)
    .map(({ type }: { type: string }) => type);

const ready = (id: string) =>
  until(
    'the asset',
    async () => {
      const asset = await mux.video.assets.retrieve(id);
      if (asset.status === 'errored') throw new Error(JSON.stringify(asset.errors));
      return asset.status === 'ready' && asset;
    },
    { within: 30_000 },
  );

describe.concurrent('@mux/mux-node', () => {
  it('broadcasts to a live stream that it made, hears of it, and plays it', async () => {
    const hook = await mux.system.webhooks.create({ address: `${webUrl}/hook` });
    const stream = await mux.video.liveStreams.create({
      playback_policy: ['public'],
      passthrough: 'mine',
      new_asset_settings: { playback_policy: ['public'], passthrough: 'of the asset' },
    });
    const [{ id: playbackId } = { id: '' }] = stream.playback_ids ?? [];
    expect(await statusOf(mux.video.playback.hls(playbackId))).toBe(412);
    expect(await statusOf(mux.video.playback.hls('nothing'))).toBe(404);
    const encoder = broadcast(`rtmp://127.0.0.1:${server.rtmpPort}/app/${stream.stream_key}`);
    await using _ = encoder;
    await until('the event', () => told(stream.id).includes('video.live_stream.active'), { within: 30_000 });
    const active = await mux.video.liveStreams.retrieve(stream.id);
    expect(active).toMatchObject({
      status: 'active',
      passthrough: 'mine',
      active_asset_id: expect.any(String),
    });
    const assetId = active.active_asset_id ?? '';
    expect(await mux.video.assets.retrieve(assetId)).toMatchObject({
      is_live: true,
      live_stream_id: stream.id,
    });
    const playlist = await mux.video.playback.hls(playbackId);
    expect(await playlist.text()).toContain('#EXTM3U');
    expect(await probed(`${server.url}/mux/${playbackId}.m3u8`)).toEqual(['aac', 'h264']);

    await encoder.stop();
    await until('the event', () => told(stream.id).includes('video.live_stream.idle'), { within: 15_000 });
    expect(told(stream.id)).toEqual([
      'video.live_stream.created',
      'video.live_stream.connected',
      'video.live_stream.recording',
      'video.live_stream.active',
      'video.live_stream.disconnected',
      'video.live_stream.idle',
    ]);
    await mux.video.liveStreams.complete(stream.id);
    const asset = await ready(assetId);
    expect(asset).toMatchObject({
      live_stream_id: stream.id,
      passthrough: 'of the asset',
      ingest_type: 'live_rtmp',
    });
    expect(await probed(`${server.url}/mux/${asset.playback_ids?.[0]?.id}.m3u8`)).toEqual(['aac', 'h264']);
    await until('the event', () => told(assetId).includes('video.asset.live_stream_completed'), {
      within: 15_000,
    });
    expect(told(assetId)[0]).toBe('video.asset.created');

    const { body, headers } = received[0] ?? { body: '', headers: {} };
    const signature = { 'mux-signature': String(headers['mux-signature']) };
    const event = await mux.webhooks.unwrap(body, signature, hook.signing_secret);
    expect(event).toMatchObject({ type: expect.stringMatching(/^video\./), data: expect.any(Object) });
    await expect(mux.webhooks.verifySignature(`${body} `, signature, hook.signing_secret)).rejects.toThrow();

    expect(
      (await mux.video.assets.list({ live_stream_id: stream.id })).data.map(({ id }: { id: string }) => id),
    ).toEqual([assetId]);
    await mux.video.liveStreams.delete(stream.id);
    expect(await statusOf(mux.video.liveStreams.retrieve(stream.id))).toBe(404);
    expect((await mux.system.webhooks.retrieve(hook.id)).address).toBe(`${webUrl}/hook`);
    expect((await mux.system.webhooks.update(hook.id, { address: `${webUrl}/other` })).address).toContain(
      'other',
    );
    const { data: hooks } = await mux.system.webhooks.list();
    expect(
      hooks.map(({ id, signing_secret: secret }: { id: string; signing_secret?: string }) => [id, secret]),
    ).toEqual([[hook.id, undefined]]);
    await mux.system.webhooks.delete(hook.id);
    expect((await mux.system.utilities.whoami()).access_token_name).toBe('mux-node');
  });

  it('changes live streams, their playback ids and simulcast targets', async () => {
    const { liveStreams } = mux.video;
    const stream = await liveStreams.create({ playback_policy: ['public'], passthrough: 'changed' });
    const { id, stream_key: key } = stream;
    expect(await liveStreams.update(id, { passthrough: 'new' })).toMatchObject({ passthrough: 'new' });
    expect((await liveStreams.resetStreamKey(id)).stream_key).not.toBe(key);
    await liveStreams.disable(id);
    expect((await liveStreams.retrieve(id)).status).toBe('disabled');
    await liveStreams.enable(id);
    expect((await liveStreams.retrieve(id)).status).toBe('idle');
    const signed = await liveStreams.createPlaybackId(id, { policy: 'signed' });
    expect(await liveStreams.retrievePlaybackId(id, signed.id)).toEqual(signed);
    expect(await mux.video.playbackIds.retrieve(signed.id)).toEqual({
      ...signed,
      object: { id, type: 'live_stream' },
    });
    await liveStreams.deletePlaybackId(id, signed.id);
    expect(await statusOf(liveStreams.retrievePlaybackId(id, signed.id))).toBe(404);
    const target = await liveStreams.createSimulcastTarget(id, {
      url: 'rtmp://push.example.com/app',
      stream_key: 'k',
    });
    expect(await liveStreams.retrieveSimulcastTarget(id, target.id)).toEqual(target);
    await liveStreams.deleteSimulcastTarget(id, target.id);
    const found: string[] = [];
    for await (const one of liveStreams.list({ limit: 1 })) found.push(one.id);
    expect(found).toContain(id);
  });

  it('makes assets of a URL and by direct uploads, and lists them all', async () => {
    const { assets, uploads } = mux.video;
    const made = await assets.create({
      inputs: [{ url: `${webUrl}/film.mp4` }],
      playback_policies: ['public'],
    });
    expect(made).toMatchObject({ status: 'preparing', progress: { state: 'ingesting' } });
    const asset = await ready(made.id);
    expect(asset).toMatchObject({
      aspect_ratio: '16:9',
      max_stored_resolution: 'SD',
      resolution_tier: '720p',
    });
    const [{ id: playbackId } = { id: '' }] = asset.playback_ids ?? [];
    expect(await probed(`${server.url}/mux/${playbackId}.m3u8`)).toEqual(['aac', 'h264']);
    const [info] = await assets.retrieveInputInfo(made.id);
    expect(info?.file?.tracks?.map(({ type }: { type: string }) => type)).toEqual(['video', 'audio']);
    expect(await assets.update(made.id, { passthrough: 'p' })).toMatchObject({ passthrough: 'p' });
    const { master } = await assets.updateMasterAccess(made.id, { master_access: 'temporary' });
    expect((await fetch(master?.url ?? '')).status).toBe(200);
    const extra = await assets.createPlaybackId(made.id, { policy: 'public' });
    expect(await assets.retrievePlaybackId(made.id, extra.id)).toEqual(extra);
    expect((await mux.video.playback.staticRendition(extra.id, 'high.mp4')).status).toBe(200);
    await assets.deletePlaybackId(made.id, extra.id);

    const upload = await uploads.create({
      cors_origin: '*',
      new_asset_settings: { playback_policies: ['signed'] },
    });
    const sent = await fetch(upload.url ?? '', { method: 'PUT', body: new Uint8Array(film) });
    expect(sent.status).toBe(200);
    const { asset_id: uploaded = '' } = await uploads.retrieve(upload.id);
    expect(await ready(uploaded)).toMatchObject({ upload_id: upload.id });
    const other = await uploads.create({ cors_origin: '*' });
    expect((await uploads.cancel(other.id)).status).toBe('cancelled');
    expect((await uploads.list()).data.length).toBeGreaterThanOrEqual(2);
    const found: string[] = [];
    for await (const one of assets.list({ limit: 1 })) found.push(one.id);
    expect(found).toEqual(expect.arrayContaining([made.id, uploaded]));
    expect(new Set(found).size).toBe(found.length);
    await assets.delete(made.id);
    expect(await statusOf(assets.retrieve(made.id))).toBe(404);
  });

  it('signs tokens that play, expired ones that do not, and restricts domains', async () => {
    const { playbackRestrictions: restrictions, playback } = mux.video;
    const key = await mux.system.signingKeys.create();
    const options = { keyId: key.id, keySecret: key.private_key ?? '' };
    const made = await mux.video.assets.create({
      inputs: [{ url: `${webUrl}/film.mp4` }],
      playback_policies: ['signed'],
    });
    await ready(made.id);
    const { id: playbackId } = (await mux.video.assets.retrieve(made.id)).playback_ids?.[0] ?? { id: '' };
    const token = await mux.jwt.signPlaybackId(playbackId, { ...options, expiration: '1h' });
    expect(await probed(`${server.url}/mux/${playbackId}.m3u8?token=${token}`)).toEqual(['aac', 'h264']);
    const expired = await mux.jwt.signPlaybackId(playbackId, { ...options, expiration: '-120' });
    const thumbnail = await mux.jwt.signPlaybackId(playbackId, { ...options, type: 'thumbnail' });
    expect(await statusOf(playback.hls(playbackId, { token: expired }))).toBe(403);
    expect(await statusOf(playback.hls(playbackId, { token: thumbnail }))).toBe(403);
    expect(await statusOf(playback.hls(playbackId))).toBe(403);
    const picture = await playback.thumbnail(playbackId, 'jpg', { token: thumbnail });
    expect(picture.headers.get('content-type')).toBe('image/jpeg');

    const referrer = { allowed_domains: ['example.com'], allow_no_referrer: false };
    const restriction = await restrictions.create({ referrer, user_agent: {} });
    const restricted = await mux.jwt.signPlaybackId(playbackId, {
      ...options,
      params: { playback_restriction_id: restriction.id },
    });
    const from = (origin: string) => playback.hls(playbackId, { token: restricted }, { headers: { origin } });
    expect(await statusOf(from('https://example.com'))).toBe(200);
    expect(await statusOf(from('https://example.net'))).toBe(403);
    await restrictions.updateReferrer(restriction.id, { allowed_domains: ['example.net'] });
    expect(await restrictions.retrieve(restriction.id)).toMatchObject({
      referrer: { allowed_domains: ['example.net'] },
    });
    expect(await statusOf(from('https://example.net'))).toBe(200);
    expect((await restrictions.list()).data.length).toBe(1);
    await restrictions.delete(restriction.id);

    expect((await mux.system.signingKeys.list()).data.map(({ id }: { id: string }) => id)).toEqual([key.id]);
    expect((await mux.system.signingKeys.retrieve(key.id)).private_key).toBeUndefined();
    await mux.system.signingKeys.delete(key.id);
    await until(
      'the end of its tokens',
      async () => (await statusOf(playback.hls(playbackId, { token }))) === 403,
      {
        within: 15_000,
      },
    );
  });

  it('gets refusals as errors of its own', async () => {
    const stranger = new Mux({
      baseURL: `${server.url}/mux`,
      tokenId: 'no',
      tokenSecret: 'no',
      maxRetries: 0,
    });
    await expect(stranger.video.assets.list()).rejects.toMatchObject({
      ...{ status: 401, error: { error: { type: 'unauthorized', messages: [expect.any(String)] } } },
    });
    await expect(mux.video.assets.retrieve('nothing')).rejects.toMatchObject({
      ...{ status: 404, error: { error: { type: 'not_found' } } },
    });
    expect(await statusOf(mux.video.assets.generateShots('nothing'))).toBe(404);
  });
});
