import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkBroadcast } from './e2e/harness/check-broadcast.ts';
import { root, type Server, startServer } from './e2e/harness/server.ts';
import { until } from './e2e/harness/wait.ts';
import { broadcast } from './kit/publisher/broadcast.ts';
import { type Clip, readFlvFile } from './kit/publisher/flv-file.ts';

/** The real server in a process of its own, our own publisher, no browser and no ffmpeg. */
interface Asset {
  readonly downloadUrl: string;
  readonly hash: readonly unknown[];
}

describe('one broadcast, end to end', () => {
  let server: Server;
  let clip: Clip;
  beforeAll(async () => {
    clip = await readFlvFile(`${root}/demo/clip.flv`);
    server = await startServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('is created, published, listed, played, ended and told about', async () => {
    const stream = await server.api.createStream({ name: 'First', record: true });
    const events = await server.openEvents();
    const started = events.expect('stream.started', { within: 5_000, streamId: stream.id });
    const onAir = broadcast({ url: server.ingestUrl(stream.streamKey), clip });
    await started;
    expect(await server.api.getStream(stream.id)).toMatchObject({ isActive: true });
    const [session] = await server.api.listSessions(stream.id);
    expect(session).toMatchObject({ parentId: stream.id, record: true, isActive: true });

    const master = await (await fetch(server.playlistUrl(stream.playbackId))).text();
    expect(master).toContain('RESOLUTION=1280x720');
    expect(master).toMatch(/CODECS="avc1\.[0-9a-f]{6},mp4a\.40\.2"/);

    const mediaUrl = server.playlistUrl(stream.playbackId).replace('index.m3u8', 'source.m3u8');
    const seen = await checkBroadcast(server.playlistUrl(stream.playbackId), { seconds: 7 });
    expect(seen.duration).toBeGreaterThan(4);
    expect(seen.frames).toBeGreaterThan(4 * 30);
    expect(seen.reloads).toBeGreaterThan(10);

    const idle = events.expect('stream.idle', { within: 5_000, streamId: stream.id });
    await onAir.stop({ clean: true });
    await idle;
    // Both windows are closed: what was recorded is an asset right away.
    const ready = events.expect('recording.ready', { within: 10_000, streamId: stream.id });
    await server.api.terminate(stream.id);
    await ready;
    const [asset] = (await (await server.api.request('GET', '/api/asset')).json()) as Asset[];
    const file = new Uint8Array(await (await fetch(asset.downloadUrl)).arrayBuffer());
    const sha256 = createHash('sha256').update(file).digest('hex');
    expect(asset).toMatchObject({ name: 'First', status: 'ready', size: file.length });
    expect(asset.hash).toContainEqual({ algorithm: 'sha256', hash: sha256 });
    await until('404', async () => (await fetch(mediaUrl)).status === 404, { within: 2_000, every: 20 });
    // On a machine that is too busy its health may suffer, and rightly be told.
    const told = events.namesOf(stream.id).filter((name) => name !== 'stream.health');
    const recorded = ['recording.started', 'stream.idle', 'recording.waiting', 'recording.ready'];
    expect(told).toEqual(['stream.started', ...recorded]);
    expect(server.output).not.toContain(stream.streamKey);
    expect(server.output).not.toContain(server.key);
  });

  it('is refused in words that an encoder shows, with a key nobody has', async () => {
    const refused = broadcast({ url: server.ingestUrl('aaaa-bbbb-cccc-dddd'), clip });
    await expect(refused.started).rejects.toMatchObject({ code: 'NetStream.Publish.Unauthorized' });
  });

  it('is over at once when the server is told to stop, and the process ends with 0', async () => {
    const other = await startServer();
    const stream = await other.api.createStream({ name: 'Stopped' });
    const onAir = broadcast({ url: other.ingestUrl(stream.streamKey), clip });
    await onAir.started;
    expect(await other.stop()).toBe(0);
    await onAir.stop({ clean: false });
    await other[Symbol.asyncDispose]();
  });
});
