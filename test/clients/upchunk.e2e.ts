import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchBrowser } from '../e2e/harness/chromium.ts';
import { type Server, startServer } from '../e2e/harness/server.ts';
import { until } from '../e2e/harness/wait.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'millrace-upchunk-'));
const client = readFileSync(join(import.meta.dirname, 'node_modules/@mux/upchunk/dist/upchunk.js'), 'utf8');
let server: Server;
/** A film of 2 s, and behind it in a box of type `free` as much as makes it this long. */
let film: Buffer;
const length = 300_000_000;
let sha256: string;

beforeAll(async () => {
  const path = join(folder, 'film.mp4');
  const picture = ['-f', 'lavfi', '-i', 'testsrc2=size=320x180:rate=25:duration=2'];
  const sound = ['-f', 'lavfi', '-i', 'sine=frequency=440:duration=2'];
  const codecs = ['-pix_fmt', 'yuv420p', '-c:v', 'libx264', '-preset', 'ultrafast', '-c:a', 'aac'];
  await run('ffmpeg', ['-v', 'error', '-y', ...picture, ...sound, ...codecs, path]);
  const real = readFileSync(path);
  film = Buffer.alloc(length);
  real.copy(film);
  film.writeUInt32BE(length - real.length, real.length);
  film.write('free', real.length + 4);
  // Every place in it is another one.
  for (let at = real.length + 8; at + 4 <= length; at += 4096) film.writeUInt32BE(at, at);
  sha256 = createHash('sha256').update(film).digest('hex');
  server = await startServer();
}, 120_000);

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

async function asked(): Promise<{ url: string; asset: { id: string } }> {
  const answer = await server.api.request('POST', '/api/asset/request-upload', { name: 'A film' });
  return (await answer.json()) as { url: string; asset: { id: string } };
}

async function expectFilm({ asset }: { asset: { id: string } }, bytes = { size: length, sha256 }) {
  const shown = await (await server.api.request('GET', `/api/asset/${asset.id}`)).json();
  const { status, size, hash } = shown as {
    status: string;
    size: number;
    hash: { algorithm: string; hash: string }[];
  };
  const found = hash.find(({ algorithm }) => algorithm === 'sha256');
  expect([status, size, found?.hash]).toEqual(['ready', bytes.size, bytes.sha256]);
  expect(readdirSync(join(server.dataDir, 'uploads'))).toEqual([]);
}

const badGateway = [
  'HTTP/1.1 502 Bad Gateway',
  ...['Access-Control-Allow-Origin: *', 'Content-Length: 0', 'Connection: close', '', ''],
].join('\r\n');

/** A proxy that answers 502 in the middle of a piece, and loses the answer to another piece. */
async function flakyProxy(port: number) {
  const broken: string[] = [];
  let sent = 0;
  const proxy = createServer((from) => {
    const to = connect(port, '127.0.0.1');
    const end = () => [from, to].map((socket: Socket) => socket.destroy());
    for (const socket of [from, to]) socket.on('error', end).on('close', end);
    let isBad = false;
    from.on('data', (bytes) => {
      if (isBad) return;
      sent += bytes.length;
      if (broken.length === 0 && sent > 100_000_000) {
        isBad = true;
        broken.push('in a piece');
        to.off('close', end).destroy();
        from.write(badGateway);
      } else if (!to.write(bytes)) {
        from.pause();
        to.once('drain', () => from.resume());
      }
    });
    to.on('data', (bytes) => {
      if (broken.length === 1 && sent > 200_000_000 && bytes.includes(' 308 ')) {
        broken.push('an answer');
        end();
      } else from.write(bytes);
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return { broken, port: (proxy.address() as { port: number }).port, close: () => proxy.close() };
}

it('a page of another origin uploads 300 MB in pieces with @mux/upchunk, though two of them fail', async () => {
  const proxy = await flakyProxy(Number(new URL(server.url).port));
  const pages = createHttpServer((request, answer) => {
    if (request.url === '/film') answer.end(film);
    else answer.setHeader('content-type', 'text/html').end('<p>page');
  });
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
  let browser: Browser | undefined;
  try {
    browser = await launchBrowser();
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${(pages.address() as { port: number }).port}/`);
    await page.addScriptTag({ content: client });
    const given = await asked();
    const endpoint = new URL(given.url);
    endpoint.port = String(proxy.port);
    const seen = await page.evaluate(async (to) => {
      // biome-ignore lint/suspicious/noExplicitAny: what the page has of the client's script
      const { UpChunk } = globalThis as any;
      const file = new File([await (await fetch('/film')).blob()], 'film.mp4', { type: 'video/mp4' });
      const events: string[] = [];
      // 0: the connection broke. By default @mux/upchunk gives up then.
      const retryCodes = [0, 408, 502, 503, 504];
      return new Promise<readonly string[]>((resolve) => {
        const upload = UpChunk.createUpload({ endpoint: to, file, retryCodes, delayBeforeAttempt: 0.1 });
        // biome-ignore lint/suspicious/noExplicitAny: events of the client
        upload.on('chunkSuccess', ({ detail }: any) => {
          const { statusCode, headers } = detail.response;
          events.push(`${statusCode} ${headers.range ?? ''} after ${detail.attempts}`);
        });
        upload.on('success', () => resolve([...events, 'success']));
        // biome-ignore lint/suspicious/noExplicitAny: events of the client
        upload.on('error', ({ detail }: any) => resolve([...events, detail.message]));
      });
    }, endpoint.href);
    expect(proxy.broken).toEqual(['in a piece', 'an answer']);
    const piece = 30_720 * 1024;
    const ends = Array.from({ length: 9 }, (_, index) => `308 bytes=0-${(index + 1) * piece - 1}`);
    expect(seen.map((text) => text.replace(/ after \d$/, ''))).toEqual([...ends, '200 ', 'success']);
    // After a lost answer Chromium may repeat the request by itself.
    expect(seen.filter((text) => text.endsWith('after 2')).length).toBeGreaterThan(0);
    await expectFilm(given);
  } finally {
    await browser?.close();
    pages.close();
    proxy.close();
  }
});

const end = 40_000_000;
const put = (url: string, [from, to]: readonly [number, number]) =>
  fetch(url, {
    method: 'PUT',
    body: film.subarray(from, to) as Uint8Array<ArrayBuffer>,
    headers: { 'content-range': `bytes ${from}-${to - 1}/${end}` },
  });
/** How much is on disk. */
async function arrived(url: string): Promise<number> {
  const answer = await fetch(url, { method: 'PUT', headers: { 'content-range': `bytes */${end}` } });
  if (answer.status === 200) return end;
  expect(answer.status).toBe(308);
  const range = answer.headers.get('range');
  return range === null ? 0 : Number(/^bytes=0-(\d+)$/.exec(range)?.[1]) + 1;
}

it('kill -9 keeps what was acknowledged, and the upload goes on from there', async () => {
  const given = await asked();
  const { url } = given;
  const parts = () => readdirSync(join(server.dataDir, 'uploads')).filter((name) => name.endsWith('.part'));
  const onDisk = () => parts().map((name) => statSync(join(server.dataDir, 'uploads', name)).size)[0] ?? 0;
  let told = 0;
  for (const round of [1, 2, 3]) {
    const answer = await put(url, [told, told + 3_000_000 * round]);
    expect([answer.status, answer.headers.get('range')]).toEqual([
      ...[308, `bytes=0-${told + 3_000_000 * round - 1}`],
    ]);
    told += 3_000_000 * round;
    // In the middle of the next one.
    const running = put(url, [told, end]).catch(() => undefined);
    await until('some of it to be written', () => onDisk() > told, { within: 20_000, every: 1 });
    await server.kill();
    await running;
    await server.restart();
    const now = await arrived(url);
    expect(now).toBeGreaterThanOrEqual(told);
    told = now;
    if (told > end - 10_000_000) break;
  }
  // It may begin with bytes that have arrived.
  const answer = await put(url, [told - 1000, end]);
  expect(answer.status).toBe(200);
  const part = film.subarray(0, end);
  await expectFilm(given, { size: end, sha256: createHash('sha256').update(part).digest('hex') });
});
