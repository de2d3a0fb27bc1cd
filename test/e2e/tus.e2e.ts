import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { findFreePorts } from '../kit/free-ports.ts';
import { launchBrowser } from './harness/chromium.ts';
import { type Server, startServer } from './harness/server.ts';
import { until } from './harness/wait.ts';

const run = promisify(execFile);
const require = createRequire(import.meta.url);
const folder = mkdtempSync(join(tmpdir(), 'millrace-tus-'));
const bytesType = 'application/offset+octet-stream';
let server: Server;
/** A film of 4 s, and 40 MB of nothing behind it: more than what is synced at one time. */
let film: Buffer;

beforeAll(async () => {
  const path = join(folder, 'film.mp4');
  const picture = ['-f', 'lavfi', '-i', 'testsrc2=size=320x180:rate=25:duration=4'];
  const sound = ['-f', 'lavfi', '-i', 'sine=frequency=440:duration=4'];
  const codecs = ['-pix_fmt', 'yuv420p', '-c:v', 'libx264', '-preset', 'ultrafast', '-c:a', 'aac'];
  await run('ffmpeg', ['-v', 'error', '-y', ...picture, ...sound, ...codecs, path]);
  const free = Buffer.concat([Buffer.alloc(8), randomBytes(40_000_000)]);
  free.writeUInt32BE(free.length);
  free.write('free', 4);
  film = Buffer.concat([readFileSync(path), free]);
  server = await startServer();
}, 120_000);

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const uploads = () => join(server.dataDir, 'uploads');
/** What lies there of this test: a test that failed before may have left something. */
let left: string[] = [];
beforeEach(() => {
  left = readdirSync(uploads());
});
const spool = () => readdirSync(uploads()).filter((name) => !left.includes(name));
const partSizes = () =>
  spool()
    .filter((name) => name.endsWith('.part'))
    .map((name) => statSync(join(uploads(), name)).size);
// biome-ignore lint/suspicious/noExplicitAny: answers of all kinds
const get = async (url: string): Promise<any> => (await server.api.request('GET', url)).json();

async function asked() {
  const answer = await server.api.request('POST', '/api/asset/request-upload', { name: 'A film' });
  return (await answer.json()) as { tusEndpoint: string; asset: { id: string }; task: { id: string } };
}

function send(
  method: string,
  url: string,
  { body, headers = {} }: { body?: Uint8Array; headers?: Record<string, string> } = {},
) {
  const sent = { 'tus-resumable': '1.0.0', ...headers };
  return fetch(url, { method, headers: sent, ...(body && { body }) } as RequestInit);
}
async function created(endpoint: string, size: number): Promise<string> {
  const answer = await send('POST', endpoint, { headers: { 'upload-length': String(size) } });
  expect(answer.status).toBe(201);
  return answer.headers.get('location') as string;
}
async function offsetOf(url: string): Promise<number> {
  const answer = await send('HEAD', url);
  expect(answer.status).toBe(200);
  return Number(answer.headers.get('upload-offset'));
}

/** Begins a PATCH of all that is missing, sends `count` bytes of it, and leaves the socket open. */
async function halfSent(url: string, { from, count }: { from: number; count: number }) {
  const { hostname, port, pathname, search } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  const head = [
    `PATCH ${pathname}${search} HTTP/1.1`,
    ...['Host: x', 'Tus-Resumable: 1.0.0', `Content-Type: ${bytesType}`, `Upload-Offset: ${from}`],
    ...[`Content-Length: ${film.length - from}`, '', ''],
  ];
  socket.write(head.join('\r\n'));
  await new Promise<void>((resolve) => socket.write(film.subarray(from, from + count), () => resolve()));
  return socket;
}

async function expectFilm({ asset, task }: { asset: { id: string }; task: { id: string } }) {
  const shown = await get(`/api/asset/${asset.id}`);
  expect([shown.status, shown.size]).toEqual(['ready', film.length]);
  expect(shown.hash).toContainEqual({ algorithm: 'sha256', hash: sha256(film) });
  expect(sha256(await (await fetch(shown.downloadUrl)).bytes())).toBe(sha256(film));
  await until(
    'the task to be completed',
    async () => (await get(`/api/task/${task.id}`)).status.phase === 'completed',
    { within: 15_000, every: 50 },
  );
}

it('cut off and killed twenty times at random offsets: nothing that was told is lost, and the hash is the same', async () => {
  const given = await asked();
  const url = await created(given.tusEndpoint, film.length);
  const [phase, progress] = ['phase', 'progress'].map(
    (name) => async () => (await get(`/api/task/${given.task.id}`)).status[name],
  );
  let told = 0;
  let shown = 0;
  const offsets: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    const from = await offsetOf(url);
    expect(from).toBeGreaterThanOrEqual(told);
    told = from;
    offsets.push(from);
    // What is left at the end must be something.
    const most = Math.floor((film.length - from) / (round < 4 ? 2 : 5));
    const count = 1 + Math.floor(Math.random() * most);
    if (round % 4 === 1) {
      // A whole PATCH: when it is answered it is told.
      const headers = { 'content-type': bytesType, 'upload-offset': String(from) };
      const answer = await send('PATCH', url, { body: film.subarray(from, from + count), headers });
      expect([answer.status, Number(answer.headers.get('upload-offset'))]).toEqual([204, from + count]);
      told = from + count;
    }
    const socket = await halfSent(url, { from: told, count: Math.min(count, film.length - told - 1) });
    // Else the server may not have read even the head yet.
    if (round % 4 !== 0) {
      await until('some of it to be written', () => partSizes()[0] > told, { within: 20_000, every: 1 });
    }
    if (round % 3 === 2) {
      await server.kill();
      socket.destroy();
      await server.restart();
    } else {
      // Now the server knows, now it does not: the next HEAD comes at once all the same.
      if (round % 2 === 0) socket.destroy();
      const now = await progress();
      expect(now).toBeGreaterThanOrEqual(shown);
      shown = now;
      if (round % 2 === 1) {
        await offsetOf(url);
        socket.destroy();
      }
    }
  }
  expect(['running', 'waiting']).toContain(await phase());
  // Each of the five whole requests, and whatever was kept of the others.
  expect(new Set(offsets).size).toBeGreaterThan(5);
  const from = await offsetOf(url);
  const headers = { 'content-type': bytesType, 'upload-offset': String(from) };
  expect((await send('PATCH', url, { body: film.subarray(from), headers })).status).toBe(204);
  await expectFilm(given);
  expect(spool()).toEqual([]);
  expect(await offsetOf(url)).toBe(film.length);
});

it('kill -9 around the last byte: the asset is made, with or without the client, and never of less', async () => {
  for (const wait of [0, 5, 30, 100, 250]) {
    const given = await asked();
    const url = await created(given.tusEndpoint, film.length);
    const headers = { 'content-type': bytesType, 'upload-offset': '0' };
    const answer = send('PATCH', url, { body: film, headers }).then(
      ({ status }) => status,
      () => 0,
    );
    await until('the file to begin', () => partSizes().length > 0, { within: 10_000, every: 5 });
    await new Promise((resolve) => setTimeout(resolve, wait));
    await server.kill();
    const status = await answer;
    await server.restart();
    const from = await offsetOf(url);
    if (status === 204) expect(from).toBe(film.length);
    if (from < film.length) {
      const rest = { 'content-type': bytesType, 'upload-offset': String(from) };
      expect((await send('PATCH', url, { body: film.subarray(from), headers: rest })).status).toBe(204);
    }
    await expectFilm(given);
    expect(spool()).toEqual([]);
  }
});

it('uploads that are begun and silent cost no file descriptor, and end when they are terminated', async () => {
  const given = await asked();
  const all = await Promise.all(Array.from({ length: 4 }, () => created(given.tusEndpoint, film.length)));
  const sockets = await Promise.all(all.map((url) => halfSent(url, { from: 0, count: 1000 })));
  await until('what was sent to come', () => partSizes().join() === '1000,1000,1000,1000', {
    within: 10_000,
    every: 20,
  });
  for (const url of all) expect(await offsetOf(url)).toBe(1000);
  const files = () =>
    readdirSync(`/proc/${server.pid}/fd`).filter((fd) => {
      try {
        return readlinkSync(`/proc/${server.pid}/fd/${fd}`).includes('/uploads/');
      } catch {
        return false;
      }
    });
  // HEAD has ended what came, while the sockets are open yet.
  await until('the files to be closed', () => files().length === 0, { within: 10_000, every: 20 });
  for (const socket of sockets) socket.destroy();
  for (const url of all.slice(1)) expect((await send('DELETE', url)).status).toBe(204);
  const headers = { 'content-type': bytesType, 'upload-offset': '1000' };
  expect((await send('PATCH', all[0], { body: film.subarray(1000), headers })).status).toBe(204);
  await expectFilm(given);
  expect(spool()).toEqual([]);
});

it('a page of another origin uploads with tus-js-client: pauses, goes on, survives the server, and reads why it was refused', async () => {
  const [port] = await findFreePorts(1);
  const client = readFileSync(require.resolve('tus-js-client/dist/tus.min.js'), 'utf8');
  const pages = createServer((request, answer) => {
    if (request.url === '/film') answer.end(film);
    else answer.setHeader('content-type', 'text/html').end('<p>page');
  });
  await new Promise<void>((resolve) => pages.listen(port, '127.0.0.1', resolve));
  let browser: Browser | undefined;
  try {
    browser = await launchBrowser();
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${port}/`);
    await page.addScriptTag({ content: client });
    await page.exposeFunction('killServer', async () => {
      await server.kill();
      await server.restart();
    });
    const upload = (
      endpoint: string,
      {
        text,
        ...options
      }: { chunkSize?: number; text?: string; pauseAt?: number; killAt?: number; creation?: boolean },
    ) =>
      page.evaluate(
        async ({ to, given, refused }) => {
          // biome-ignore lint/suspicious/noExplicitAny: what the page has of the client's script
          const { tus, killServer } = globalThis as any;
          const file = refused === undefined ? await (await fetch('/film')).blob() : new Blob([refused]);
          const urls = new Set<string>();
          const seen = { isPaused: false, isKilled: false, offsets: [] as number[] };
          return new Promise<{ urls: string[]; error?: string; offsets: number[] }>((resolve) => {
            const end = (error?: string) =>
              resolve({ urls: [...urls], offsets: seen.offsets, ...(error !== undefined && { error }) });
            const one = new tus.Upload(file, {
              endpoint: to,
              metadata: { filename: 'film.mp4', name: 'Ein schöner Film' },
              retryDelays: [100, 300, 600, 1000, 2000, 3000],
              ...(given.chunkSize && { chunkSize: given.chunkSize }),
              uploadDataDuringCreation: given.creation ?? false,
              onUploadUrlAvailable: () => urls.add(one.url),
              onChunkComplete: (_: number, offset: number) => seen.offsets.push(offset),
              onProgress: (sent: number) => {
                if (given.pauseAt !== undefined && sent >= given.pauseAt && !seen.isPaused) {
                  seen.isPaused = true;
                  one.abort().then(() => setTimeout(() => one.start(), 500));
                }
                if (given.killAt !== undefined && sent >= given.killAt && !seen.isKilled) {
                  seen.isKilled = true;
                  killServer();
                }
              },
              onSuccess: () => end(),
              // biome-ignore lint/suspicious/noExplicitAny: an error of the client
              onError: (error: any) => end(error.originalResponse?.getBody() ?? String(error)),
            });
            one.start();
          });
        },
        { to: endpoint, given: options, refused: text },
      );
    const ways = [
      { chunkSize: 5_000_000, pauseAt: 12_000_000 },
      { pauseAt: 1 },
      { chunkSize: 4_000_000, killAt: 18_000_000, creation: true },
    ];
    for (const way of ways) {
      const given = await asked();
      const { urls, error } = await upload(given.tusEndpoint, way);
      expect([error, urls.length]).toEqual([undefined, 1]);
      await expectFilm(given);
    }
    const given = await asked();
    const { error = '' } = await upload(given.tusEndpoint, { text: '<html>no film' });
    expect(JSON.parse(error)).toMatchObject({ code: 'upload.refused' });
    expect((await get(`/api/asset/${given.asset.id}`)).status).toBe('failed');
    expect(spool()).toEqual([]);
  } finally {
    await browser?.close();
    pages.close();
  }
});
