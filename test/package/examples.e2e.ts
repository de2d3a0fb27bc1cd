/** The examples as somebody outside has them: packed, installed beside a packed Millrace, named in a config. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchBrowser } from '../e2e/harness/chromium.ts';
import { broadcast } from '../e2e/harness/ffmpeg.ts';
import { run } from '../e2e/harness/film-tools.ts';
import { hlsPage } from '../e2e/harness/hls-page.ts';
import { root, type Server, startServer } from '../e2e/harness/server.ts';
import { lasting, until } from '../e2e/harness/wait.ts';
import { npm, packedSite } from './packed.ts';

let site: Awaited<ReturnType<typeof packedSite>>;

beforeAll(async () => {
  site = await packedSite();
  const tarballs = [];
  for (const name of ['views', 'hooks', 'transcript']) {
    const printed = await npm(join(root, 'examples', name), ['pack', '--pack-destination', site.folder]);
    tarballs.push(printed.trim().split('\n').at(-1) as string);
  }
  await npm(site.folder, ['install', ...tarballs.map((name) => `./${name}`)]);
}, 240_000);

afterAll(() => site?.[Symbol.asyncDispose]());

/** The installed server with one of the examples. */
async function serverWith(example: string, config: Record<string, unknown> = {}): Promise<Server> {
  const file = join(site.folder, `${example}.json`);
  const plugins = {
    [`@millrace-examples/${example}`]: config,
    streams: { hold: '2s', reconnectWindow: '4s' },
  };
  await writeFile(file, JSON.stringify({ plugins }));
  const command = [join(site.folder, 'node_modules/.bin/millrace'), 'start', '--config', file];
  return startServer({ program: { command, cwd: site.folder } });
}

/** Plays as a player does that sends this user agent: the playlist, again and again. */
async function view(server: Server, options: { playbackId: string; viewer: string; seconds: number }) {
  const { playbackId, viewer, seconds } = options;
  const headers = { 'user-agent': viewer };
  for (let second = 0; second < seconds; second += 1) {
    const answer = await fetch(`${server.url}/hls/${playbackId}/source.m3u8`, { headers });
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('#EXTM3U')]);
    await lasting(1000);
  }
}

const onAir = (server: Server, id: string) =>
  until('the broadcast', async () => (await server.api.getStream(id)).isActive, { within: 20_000 });

it('views counts two viewers, and keeps the counts through kill -9', async () => {
  await using server = await serverWith('views');
  const { id, streamKey, playbackId } = await server.api.createStream({ name: 'Watched' });
  const counts = async () =>
    (await (await server.api.request('GET', `/api/data/views/${playbackId}`)).json()) as {
      viewCount: number;
      watchTime: number;
    };
  expect(await counts()).toMatchObject({ viewCount: 0, watchTime: 0 });
  await using _ = broadcast(server.ingestUrl(streamKey), { retry: true });
  await onAir(server, id);
  await Promise.all(['one', 'two'].map((viewer) => view(server, { playbackId, viewer, seconds: 12 })));
  const seen = await until(
    'both viewers',
    async () => {
      const now = await counts();
      return now.viewCount === 2 && now.watchTime >= 10 ? now : undefined;
    },
    { within: 15_000 },
  );
  await server.kill();
  await server.restart();
  expect(await counts()).toMatchObject({ viewCount: 2, watchTime: expect.any(Number) });
  expect((await counts()).watchTime).toBeGreaterThanOrEqual(seen.watchTime);
  await onAir(server, id);
  await view(server, { playbackId, viewer: 'three', seconds: 3 });
  await until('the third viewer', async () => (await counts()).viewCount === 3, { within: 15_000 });
  expect(await server.api.getStream(id)).toMatchObject({ viewCount: 3 });
  const other = await server.api.request('GET', '/api/data/views/0000000000000000');
  expect(other.status).toBe(404);
});

it('hooks lets an endpoint refuse a publish and a play, and refuses both when it is down', async () => {
  const asked: Record<string, string>[] = [];
  const endpoint = await listening(async (request) => {
    const body = JSON.parse((await bytesOf(request)).toString()) as Record<string, string>;
    asked.push(body);
    return { status: body.path === refused || body.userAgent === 'banned' ? 403 : 200 };
  });
  let refused = '';
  await using server = await serverWith('hooks', { url: endpoint.url, cache: '1s' });
  const [good, bad] = await Promise.all(['Good', 'Bad'].map((name) => server.api.createStream({ name })));
  refused = `live/${bad.id}`;
  await using _ = broadcast(server.ingestUrl(good.streamKey));
  await onAir(server, good.id);
  expect(await publishOnce(server.ingestUrl(bad.streamKey))).toMatch(/rejected|refused|denied/i);
  const play = (viewer: string) => statusAs(`${server.playlistUrl(good.playbackId)}?token=t`, viewer);
  expect(await play('welcome')).toBe(200);
  expect(await play('banned')).toBe(403);
  expect(asked).toContainEqual(
    expect.objectContaining({ action: 'publish', path: `live/${good.id}`, protocol: 'rtmp' }),
  );
  expect(asked).toContainEqual(
    expect.objectContaining({ action: 'read', path: good.playbackId, token: 't', userAgent: 'welcome' }),
  );
  expect(JSON.stringify(asked)).not.toContain(good.streamKey);
  await endpoint.stop();
  await lasting(1100);
  expect(await play('welcome')).toBe(503);
  expect(await publishOnce(server.ingestUrl(bad.streamKey))).not.toBe('');
  // Who is on the air stays there.
  expect((await server.api.getStream(good.id)).isActive).toBe(true);
});

it('transcript makes subtitles of a recording', async () => {
  const received: Buffer[] = [];
  const vtt = 'WEBVTT\n\n00:00:01.000 --> 00:00:03.000\nGood evening, everybody.\n';
  const endpoint = await listening(async (request) => {
    const headers = { 'content-type': request.headers['content-type'] ?? '' };
    const form = await new Response(new Uint8Array(await bytesOf(request)), { headers }).formData();
    const isRight =
      request.url === '/v1/audio/transcriptions' &&
      request.headers.authorization === 'Bearer secret-of-the-endpoint' &&
      form.get('response_format') === 'vtt' &&
      form.get('model') === 'whisper-1';
    if (!isRight) return { status: 400 };
    received.push(Buffer.from(await (form.get('file') as Blob).arrayBuffer()));
    return { status: 200, body: vtt };
  });
  const url = `${endpoint.url}/v1/audio/transcriptions`;
  await using server = await serverWith('transcript', { url, key: 'secret-of-the-endpoint' });
  const { id, streamKey } = await server.api.createStream({ name: 'Spoken', record: true });
  {
    await using encoder = broadcast(server.ingestUrl(streamKey));
    await onAir(server, id);
    await lasting(6000);
    await encoder.stop();
  }
  const [session] = await until('the session', () => server.api.listSessions(id), { within: 5000 });
  const recording = await until(
    'the recording',
    async () => {
      const { recordingUrl } = (await server.api.getStream(session?.id ?? '')) as { recordingUrl?: string };
      return recordingUrl;
    },
    { within: 60_000 },
  );
  const master = await until(
    'the track in the playlist',
    async () => {
      const text = await (await fetch(recording)).text();
      return text.includes('TYPE=SUBTITLES') && text;
    },
    { within: 30_000 },
  );
  expect(master).toMatch(/#EXT-X-MEDIA:TYPE=SUBTITLES,.*NAME="Transcript".*LANGUAGE="en"/);

  // What the endpoint got is the sound alone, and a decoder reads it.
  const file = join(site.folder, 'sound.m4a');
  await writeFile(file, received[0] ?? Buffer.alloc(0));
  const probed = JSON.parse(
    (await run('ffprobe', ['-v', 'error', '-show_streams', '-show_format', '-of', 'json', file])).stdout,
  );
  expect(probed.streams).toMatchObject([{ codec_type: 'audio', codec_name: 'aac' }]);
  expect(Number(probed.format.duration)).toBeGreaterThan(5);
  const { stderr } = await run('ffmpeg', ['-v', 'error', '-i', file, '-f', 'null', '-']);
  expect(stderr).toBe('');

  // Plain hls.js shows it.
  expect(await cuesIn(recording)).toEqual(['Good evening, everybody.']);
  expect(server.output).not.toContain('secret-of-the-endpoint');
  await endpoint.stop();
});

it('has packages without anything but their own files', async () => {
  for (const name of ['views', 'hooks', 'transcript']) {
    const folder = join(site.folder, 'node_modules/@millrace-examples', name);
    const { dependencies, peerDependencies } = JSON.parse(
      await readFile(join(folder, 'package.json'), 'utf8'),
    );
    expect([name, dependencies, peerDependencies]).toEqual([
      name,
      undefined,
      { millrace: expect.any(String) },
    ]);
  }
});

/** The texts of the subtitles that hls.js has in a page, once they are switched on. */
async function cuesIn(playlist: string): Promise<string[]> {
  await using pages = hlsPage();
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(pages.url(playlist));
    const cues = () =>
      page.evaluate(() => {
        const { textTracks } = document.querySelector('video') as HTMLVideoElement;
        const track = Array.from(textTracks).find(({ label }) => label === 'Transcript');
        if (track) track.mode = 'showing';
        return Array.from(track?.cues ?? [], (cue) => (cue as VTTCue).text);
      });
    return await until('the subtitles', async () => ((await cues()).length > 0 ? cues() : undefined), {
      within: 30_000,
    });
  } finally {
    await browser.close();
  }
}

/** A small HTTP server. */
async function listening(answer: (request: IncomingMessage) => Promise<{ status: number; body?: string }>) {
  const server = createServer((request, response) => {
    answer(request).then(
      ({ status, body = '' }) => response.writeHead(status).end(body),
      (error) => response.writeHead(500).end(String(error)),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>));
}

async function statusAs(url: string, viewer: string): Promise<number> {
  const answer = await fetch(url, { headers: { 'user-agent': viewer } });
  await answer.arrayBuffer();
  return answer.status;
}

/** What ffmpeg says when it publishes once, and is not let in. */
async function publishOnce(url: string): Promise<string> {
  const words = ['-v', 'warning', '-re', '-t', '5', '-i', 'demo/clip.flv', '-c', 'copy', '-f', 'flv', url];
  const child = spawn('ffmpeg', words, { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] });
  let printed = '';
  child.stderr.on('data', (chunk) => (printed += chunk));
  const [code] = await once(child, 'close');
  return code === 0 ? '' : printed;
}
