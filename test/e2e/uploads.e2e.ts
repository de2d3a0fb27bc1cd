import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findFreePorts } from '../kit/free-ports.ts';
import { launchBrowser } from './harness/chromium.ts';
import { type Server, startServer } from './harness/server.ts';
import { until } from './harness/wait.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'millrace-uploads-'));
const path = (name: string) => join(folder, name);
const limit = 8_000_000;

/** A film of some seconds, made by ffmpeg. */
async function make(name: string, options: readonly string[]): Promise<void> {
  const source = ['-f', 'lavfi', '-i', 'testsrc2=size=320x180:rate=25:duration=4'];
  const sound = ['-f', 'lavfi', '-i', 'sine=frequency=440:duration=4'];
  await run('ffmpeg', [
    '-v',
    'error',
    '-y',
    ...source,
    ...sound,
    '-pix_fmt',
    'yuv420p',
    ...options,
    path(name),
  ]);
}

let server: Server;

beforeAll(async () => {
  const both = ['-c:v', 'libx264', '-preset', 'ultrafast', '-c:a', 'aac'];
  await make('end.mp4', both);
  await make('front.mp4', [...both, '-movflags', '+faststart']);
  await make('fragments.mp4', [...both, '-movflags', '+frag_keyframe+empty_moov']);
  await make('large.mp4', [
    '-c:v',
    'libx264',
    '-preset',
    'ultrafast',
    '-b:v',
    '12M',
    '-minrate',
    '12M',
    '-bufsize',
    '1M',
    '-nal-hrd',
    'cbr',
    '-maxrate',
    '12M',
    '-c:a',
    'aac',
  ]);
  server = await startServer({
    env: { MILLRACE_PLUGINS__ASSETS: JSON.stringify({ maxUploadSize: `${limit / 1e6}MB` }) },
  });
}, 120_000);

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

async function asked(name = 'A film') {
  const answer = await server.api.request('POST', '/api/asset/request-upload', { name });
  expect(answer.status).toBe(200);
  return (await answer.json()) as { url: string; asset: { id: string }; task: { id: string } };
}
// biome-ignore lint/suspicious/noExplicitAny: answers of all kinds
const get = async (url: string): Promise<any> => (await server.api.request('GET', url)).json();

/** As a person would: `curl -T file url`. */
async function curl(file: string, url: string, options: readonly string[] = []) {
  const { stdout } = await run('curl', ['-sS', '-T', file, '-w', '\n%{http_code}', ...options, url]);
  const lines = stdout.split('\n');
  const status = Number(lines.pop());
  return { status, body: JSON.parse(lines.join('\n')) };
}

const sha256 = (file: string | Uint8Array) =>
  createHash('sha256')
    .update(typeof file === 'string' ? readFileSync(file) : file)
    .digest('hex');

/** What lies in the spool of the server. */
const spool = () => readdirSync(join(server.dataDir, 'uploads'));

describe('curl -T', () => {
  it.each([
    ['end.mp4', []],
    ['front.mp4', ['-H', 'Content-Type: multipart/form-data; boundary=x']],
    ['fragments.mp4', ['-H', 'Transfer-Encoding: chunked']],
  ])('%s %j', async (name, options) => {
    const { url, asset, task } = await asked(name);
    const { status, body } = await curl(path(name), url, options);
    expect([status, body.status, body.size]).toEqual([200, 'ready', statSync(path(name)).size]);
    expect(body.hash).toContainEqual({ algorithm: 'sha256', hash: sha256(path(name)) });
    expect(body.videoSpec).toMatchObject({ format: 'mp4' });
    expect(body.videoSpec.tracks.map(({ codec }: { codec: string }) => codec).sort()).toEqual([
      'aac',
      'h264',
    ]);
    const download = await fetch(body.downloadUrl);
    expect(sha256(await download.bytes())).toBe(sha256(path(name)));
    expect((await get(`/api/asset/${asset.id}`)).status).toBe('ready');
    expect((await get(`/api/task/${task.id}`)).status).toMatchObject({ phase: 'completed', progress: 1 });
    expect(spool()).toEqual([]);
    expect((await curl(path(name), url)).status).toBe(409);
  });

  it('too large a file is 413, whatever it says of its length', async () => {
    const file = path('huge');
    writeFileSync(file, Buffer.alloc(limit + 1));
    for (const options of [[], ['-H', 'Transfer-Encoding: chunked']]) {
      const { url } = await asked();
      const { status, body } = await curl(file, url, options);
      expect([status, body.code]).toEqual([413, 'intake.too_large']);
    }
    expect(spool()).toEqual([]);
  });
});

/** Begins a PUT that never ends by itself: its socket, once the server works at it. */
async function begun(file: string) {
  const given = await asked();
  const { hostname, port, pathname, search } = new URL(given.url);
  const bytes = readFileSync(file);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  socket.write(`PUT ${pathname}${search} HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes.length}\r\n\r\n`);
  socket.write(bytes.subarray(0, bytes.length / 2));
  const phase = async () => (await get(`/api/task/${given.task.id}`)).status.phase;
  await until('the upload to run', async () => (await phase()) === 'running' && spool().length === 1, {
    within: 10_000,
    every: 20,
  });
  return { ...given, socket, phase };
}

it('a PUT that is cut off may be repeated, and leaves nothing', async () => {
  const { url, socket, phase, asset } = await begun(path('large.mp4'));
  socket.destroy();
  await until('the task to wait', async () => (await phase()) === 'waiting', { within: 10_000, every: 20 });
  expect(spool()).toEqual([]);
  expect((await get(`/api/asset/${asset.id}`)).status).toBe('waiting');
  expect((await curl(path('large.mp4'), url)).status).toBe(200);
});

it('a repeat is taken while the first connection is half open; the first then ends', async () => {
  const { url, socket, phase } = await begun(path('large.mp4'));
  expect((await curl(path('large.mp4'), url)).status).toBe(200);
  expect(await phase()).toBe('completed');
  socket.destroy();
  await until('the spool to be empty', () => spool().length === 0, { within: 10_000, every: 20 });
});

it('kill -9 in the middle of an upload: nothing half done is shown, and the same URL goes on', async () => {
  const { url, phase, asset } = await begun(path('large.mp4'));
  const finished = await asked();
  expect((await curl(path('end.mp4'), finished.url)).status).toBe(200);
  await server.kill();
  expect(spool()).toHaveLength(1);
  await server.restart();
  expect(spool()).toEqual([]);
  // What was acknowledged is there.
  const kept = await get(`/api/asset/${finished.asset.id}`);
  expect(kept.status).toBe('ready');
  expect(sha256(await (await fetch(kept.downloadUrl)).bytes())).toBe(sha256(path('end.mp4')));
  await until('the task to wait', async () => (await phase()) === 'waiting', { within: 15_000, every: 50 });
  expect((await get(`/api/asset/${asset.id}`)).status).toBe('waiting');
  expect((await curl(path('large.mp4'), url)).status).toBe(200);
});

it('kill -9 at any moment of many uploads: each is ready or waits, and is had in the end', async () => {
  for (const wait of [0, 40, 120, 250]) {
    const all = await Promise.all(Array.from({ length: 6 }, () => asked()));
    const answers = all.map(({ url }) =>
      curl(path('large.mp4'), url).then(
        ({ status }) => status,
        () => 0,
      ),
    );
    await new Promise((resolve) => setTimeout(resolve, wait));
    await server.kill();
    const statuses = await Promise.all(answers);
    await server.restart();
    for (const [n, { url, asset, task }] of all.entries()) {
      const shown = await get(`/api/asset/${asset.id}`);
      if (statuses[n] === 200) expect(shown.status).toBe('ready');
      expect(['ready', 'waiting']).toContain(shown.status);
      if (shown.status === 'waiting') expect((await curl(path('large.mp4'), url)).status).toBe(200);
      const { downloadUrl } = await get(`/api/asset/${asset.id}`);
      expect(sha256(await (await fetch(downloadUrl)).bytes())).toBe(sha256(path('large.mp4')));
      await until(
        'the task to be completed',
        async () => (await get(`/api/task/${task.id}`)).status.phase === 'completed',
        { within: 15_000, every: 50 },
      );
    }
    expect(spool()).toEqual([]);
  }
});

it('a page of another origin uploads, by fetch and by XMLHttpRequest, and reads why it was refused', async () => {
  const [port] = await findFreePorts(1);
  const pages = createServer((_, answer) => answer.setHeader('content-type', 'text/html').end('<p>page'));
  await new Promise<void>((resolve) => pages.listen(port, '127.0.0.1', resolve));
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${port}/`);
    const film = readFileSync(path('front.mp4')).toString('base64');
    const send = async (way: 'fetch' | 'xhr', base64: string) =>
      page.evaluate(
        async ({ url, text, by }) => {
          const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
          const file = new File([bytes], 'film.mp4', { type: 'video/mp4' });
          if (by === 'fetch') {
            const answer = await fetch(url, { method: 'PUT', body: file });
            return { status: answer.status, body: await answer.json(), progress: 1 };
          }
          return new Promise<{ status: number; body: { status?: string; code?: string }; progress: number }>(
            (resolve, reject) => {
              const xhr = new XMLHttpRequest();
              let progress = 0;
              xhr.upload.onprogress = ({ loaded, total }) => {
                progress = loaded / total;
              };
              xhr.onload = () =>
                resolve({ status: xhr.status, body: JSON.parse(xhr.responseText), progress });
              xhr.onerror = () => reject(new Error('the browser let it not through'));
              xhr.open('PUT', url);
              xhr.send(file);
            },
          );
        },
        { url: (await asked()).url, text: base64, by: way },
      );
    for (const way of ['fetch', 'xhr'] as const) {
      expect(await send(way, film)).toMatchObject({ status: 200, body: { status: 'ready' }, progress: 1 });
      const refused = await send(way, Buffer.from('<html>').toString('base64'));
      expect(refused).toMatchObject({ status: 422, body: { code: 'upload.refused' } });
    }
    const huge = await send('xhr', Buffer.alloc(limit + 1).toString('base64'));
    expect(huge).toMatchObject({ status: 413, body: { code: 'intake.too_large' } });
  } finally {
    await browser.close();
    pages.close();
  }
});
