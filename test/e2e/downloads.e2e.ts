/**
 * Films as files through the whole program: their length, their bytes, and what they cost those who watch beside them. What an
 * answer is made of is in test/kernel/file-answer.test.ts, how it is sent in test/conformance/http/server.test.ts.
 */
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launchBrowser } from './harness/chromium.ts';
import { expectResident, memoryEnv, residentAfterCollection } from './harness/memory.ts';
import { root, type Server, startServer } from './harness/server.ts';
import { type Answer, upload } from './harness/uploads.ts';
import { until } from './harness/wait.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'millrace-downloads-'));
const mb = 1_000_000;
/** Bytes behind the pictures that no player reads, so that the file is long. */
const padding = 48 * mb;
let server: Server;
let video: string;
let film: Buffer;

beforeAll(async () => {
  const file = join(folder, 'film.mp4');
  const clip = [
    '-i',
    join(root, 'demo/clip.flv'),
    '-t',
    '9',
    '-c:v',
    'libx264',
    '-preset',
    'ultrafast',
    '-g',
    '60',
  ];
  await run('ffmpeg', ['-v', 'error', '-y', ...clip, '-c:a', 'aac', '-movflags', '+faststart', file]);
  const box = randomBytes(padding);
  box.writeUInt32BE(padding, 0);
  box.write('free', 4, 'latin1');
  appendFileSync(file, box);
  film = readFileSync(file);
  server = await startServer({ env: memoryEnv });
  const { assetId } = await upload(server, file);
  const isReady = async () => {
    const found: Answer = await (await server.api.request('GET', `/api/asset/${assetId}`)).json();
    if (!found.downloadUrl) throw new Error(JSON.stringify(found));
    return found;
  };
  const asset: Answer = await until('the asset to be ready', isReady, { within: 20_000 });
  video = asset.downloadUrl;
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** A connection that asks for the film and reads as the test says. */
function download() {
  const { hostname, port, pathname } = new URL(video);
  const client = connect(Number(port), hostname, () =>
    client.write(`GET ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`),
  );
  client.on('error', () => {});
  return client;
}

test('have their length and their bytes, as a whole and in ranges', async () => {
  const whole = await fetch(video);
  expect(whole.headers.get('content-length')).toBe(String(film.length));
  expect(whole.headers.get('transfer-encoding')).toBeNull();
  expect(sha256(await whole.bytes())).toBe(sha256(film));
  const head = await fetch(video, { method: 'HEAD' });
  expect([head.status, head.headers.get('content-length')]).toEqual([200, String(film.length)]);
  for (const [range, from, to] of [
    ['bytes=0-0', 0, 1],
    ['bytes=1000000-', mb, film.length],
    ['bytes=-70000', film.length - 70_000, film.length],
  ] as const) {
    const part = await fetch(video, { headers: { range } });
    expect([part.status, part.headers.get('content-length')]).toEqual([206, String(to - from)]);
    expect(part.headers.get('content-range')).toBe(`bytes ${from}-${to - 1}/${film.length}`);
    expect(sha256(await part.bytes())).toBe(sha256(film.subarray(from, to)));
  }
});

test('cost no memory while clients do not read, and are closed when those leave', async () => {
  const before = await residentAfterCollection(server);
  const clients = Array.from({ length: 40 }, download);
  await Promise.all(
    clients.map(
      (client) => new Promise<void>((resolve) => client.once('data', () => resolve(void client.pause()))),
    ),
  );
  // 40 films in memory would be 1.9 GB.
  await expectResident(server, { atMost: before + 80 * mb, what: '40 clients that do not read' });
  for (const client of clients) client.destroy();
  const areClosed = async () => {
    const { stdout } = await run('sh', ['-c', `ls -l /proc/${server.pid}/fd | grep -c '\\.mp4' || true`]);
    if (Number(stdout) > 0) throw new Error(`${stdout} are open`);
    return true;
  };
  await until('all files to be closed', areClosed, { within: 8000 });
});

test('leave others their turn', async () => {
  const goal = 250;
  const clients = Array.from({ length: 8 }, download);
  const ended = clients.map((client) => {
    let got = 0;
    client.on('data', (bytes) => {
      got += bytes.length;
      if (got >= film.length) client.destroy();
    });
    return new Promise((resolve) => client.on('close', resolve));
  });
  const waits: number[] = [];
  let isOver = false;
  void Promise.all(ended).then(() => {
    isOver = true;
  });
  const playlist = video.replace(/video$/, 'index.m3u8');
  while (!isOver) {
    const began = performance.now();
    const answer = await fetch(playlist);
    expect(answer.status).toBe(200);
    await answer.text();
    waits.push(performance.now() - began);
  }
  waits.sort((a, b) => a - b);
  const at = (share: number) => waits[Math.floor((waits.length - 1) * share)];
  console.log(
    `playlists beside 8 downloads: p50 ${at(0.5).toFixed(1)} ms, p99 ${at(0.99).toFixed(1)} ms of ${waits.length}`,
  );
  expect(at(0.99)).toBeLessThan(2 * goal);
});

test('show their length to a browser, which seeks in them', async () => {
  await using browser = await launchBrowser();
  const page = await browser.newPage();
  await page.goto(`${server.url}/health/live`);
  const length = await page.evaluate(
    `fetch(${JSON.stringify(video)}).then((answer) => { void answer.body.cancel(); return answer.headers.get('content-length'); })`,
  );
  expect(length).toBe(String(film.length));
  const seeked = await page.evaluate(`new Promise((resolve, reject) => {
    const video = document.createElement('video');
    video.src = ${JSON.stringify(video)};
    video.onloadedmetadata = () => { video.currentTime = 7; };
    video.onseeked = () => resolve(video.currentTime);
    video.onerror = () => reject(new Error(video.error.message));
  })`);
  expect(seeked).toBe(7);
});
