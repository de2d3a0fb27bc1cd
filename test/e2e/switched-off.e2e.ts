import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { OpenApi } from '../../runtime/http/openapi/document.ts';
import { parseExposition } from '../kit/exposition.ts';
import { documentProblems } from '../openapi/valid.ts';
import { broadcast } from './harness/ffmpeg.ts';
import { type Server, startServer } from './harness/server.ts';
import { upload } from './harness/uploads.ts';
import { until } from './harness/wait.ts';

// In worlds: test/plugins/switched-off.test.ts, for every plugin.

const run = promisify(execFile);

/** The real server without these plugins. */
const serverWithout = (ids: readonly string[]): Promise<Server> =>
  startServer({
    env: Object.fromEntries(ids.map((id) => [`MILLRACE_PLUGINS__${id.toUpperCase()}`, 'false'])),
  });

async function expectOnlyWhatIsThere(server: Server, off: readonly string[]): Promise<void> {
  const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as OpenApi;
  expect(await documentProblems(document)).toEqual([]);
  expect(document.tags.map(({ name }) => name).filter((name) => off.includes(name))).toEqual([]);
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  parseExposition(metrics);
  for (const id of off) expect(metrics).not.toContain(`plugin="${id}"`);
  expect(await (await fetch(`${server.url}/health/ready`)).json()).toEqual({ status: 'ready' });
  for (const id of off) expect(server.output).not.toMatch(new RegExp(`─ ${id} `));
}

test.concurrent('without live video: films are uploaded and watched, and no RTMP port is open', async () => {
  const off = ['streams', 'health', 'renditions', 'multistream', 'recordings'];
  await using server = await serverWithout(off);
  await expectOnlyWhatIsThere(server, off);
  const folder = mkdtempSync(join(tmpdir(), 'millrace-off-'));
  try {
    const file = join(folder, 'film.mp4');
    const source = ['-f', 'lavfi', '-i', 'testsrc2=size=320x180:rate=25:duration=2'];
    await run('ffmpeg', ['-v', 'error', ...source, '-pix_fmt', 'yuv420p', '-c:v', 'libx264', file]);
    const { status, body } = await upload(server, file);
    expect([status, body.status]).toEqual([200, 'ready']);
    const playback = await (await fetch(`${server.url}/api/playback/${body.playbackId}`)).json();
    expect(playback).toMatchObject({ type: 'vod' });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const refused = new Promise((resolve) => {
    const socket = connect(server.rtmpPort, '127.0.0.1');
    socket.on('connect', () => resolve('open'));
    socket.on('error', () => resolve('closed'));
  });
  expect(await refused).toBe('closed');
  expect(await server.stop()).toBe(0);
});

test.concurrent('without files: broadcasts are received and watched', async () => {
  const off = ['tasks', 'assets', 'transcode', 'exports', 'recordings'];
  await using server = await serverWithout(off);
  await expectOnlyWhatIsThere(server, off);
  const stream = await server.api.createStream({ name: 'Live' });
  await using encoder = broadcast(server.ingestUrl(stream.streamKey));
  const isThere = async () => (await fetch(server.playlistUrl(stream.playbackId))).status === 200;
  await until('its playlist', isThere, { within: 20_000 });
  expect(encoder.isRunning, encoder.log).toBe(true);
  // The playlist is there a moment before it is written down.
  const isActive = async () => (await server.api.getStream(stream.id)).isActive;
  await until('the stream on the air', isActive, { within: 10_000 });
});

test.concurrent('without what tells others, and what is for people: broadcasts are received and watched', async () => {
  const off = ['webhooks', 'events', 'docs', 'watch', 'system', 'ingest', 'stills', 'playback'];
  await using server = await serverWithout(off);
  await expectOnlyWhatIsThere(server, off);
  const gone = [
    '/docs',
    '/docs/guides',
    '/llms.txt',
    '/watch/x',
    '/api/events',
    '/api/webhook',
    '/api/ingest',
  ];
  for (const path of gone) {
    expect([path, (await fetch(server.url + path)).status]).toEqual([path, 404]);
  }
  const stream = await server.api.createStream({ name: 'Live' });
  await using _ = broadcast(server.ingestUrl(stream.streamKey));
  const isThere = async () => (await fetch(server.playlistUrl(stream.playbackId))).status === 200;
  await until('its playlist', isThere, { within: 20_000 });
});
