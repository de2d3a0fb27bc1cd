import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findFreePorts } from '../kit/free-ports.ts';
import { type Server, startServer } from './harness/server.ts';
import { until } from './harness/wait.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'millrace-imports-'));
const patience = { within: 20_000, every: 20 };
let server: Server;
let films: Films;
let film: Buffer;

beforeAll(async () => {
  const picture = ['-f', 'lavfi', '-i', 'testsrc2=size=640x360:rate=25:duration=6'];
  const sound = ['-f', 'lavfi', '-i', 'sine=frequency=440:duration=6'];
  const make = (name: string, options: readonly string[]) =>
    run('ffmpeg', [
      ...['-v', 'error', '-y', ...picture, ...sound, '-pix_fmt', 'yuv420p', '-c:a', 'aac'],
      ...[...options, join(folder, name)],
    ]);
  await make('friday.mp4', ['-c:v', 'libx264', '-preset', 'ultrafast', '-b:v', '8M', '-minrate', '8M']);
  await make('codec.mp4', ['-c:v', 'mpeg4']);
  film = readFileSync(join(folder, 'friday.mp4'));
  films = await filmServer();
  server = await startServer();
}, 120_000);

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  films?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** An HTTP server with files. What it is told of one it does with the next request for that. */
interface Films {
  readonly url: string;
  /** Bytes of files that were sent. */
  readonly sent: number;
  /** `Range` of each request, oldest first. */
  readonly ranges: readonly (string | undefined)[];
  /** Sends so much of a file and then nothing, until it is told how it goes on. */
  halt(at: number): Halt;
  close(): void;
}
interface Halt {
  goOn(): void;
  breakOff(): void;
}

async function filmServer(): Promise<Films> {
  const [port] = await findFreePorts(1);
  const ranges: (string | undefined)[] = [];
  let sent = 0;
  let next: { at: number; then: Promise<'on' | 'off'> } | undefined;
  const redirects: Record<string, string> = {
    '/moved': '/friday.mp4',
    '/metadata': 'http://169.254.169.254/latest/meta-data/',
    '/private': 'http://10.0.0.1/friday.mp4',
  };
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const path = new URL(request.url ?? '/', 'http://x').pathname;
    const location = redirects[path];
    if (location) return response.writeHead(302, { location }).end();
    if (path === '/page')
      return response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><p>x');
    if (path === '/gone') return response.writeHead(410).end();
    const bytes = readFileSync(join(folder, path));
    const { range } = request.headers;
    ranges.push(range);
    const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
    response.writeHead(range ? 206 : 200, {
      ...{ etag: `"${bytes.length}"`, 'content-length': bytes.length - from },
      ...(range && { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` }),
    });
    const halt = next;
    next = undefined;
    const give = (piece: Buffer) => {
      sent += piece.length;
      response.write(piece);
    };
    if (!halt) give(bytes.subarray(from));
    else {
      give(bytes.subarray(from, halt.at));
      if ((await halt.then) === 'off') return response.destroy();
      give(bytes.subarray(halt.at));
    }
    return response.end();
  };
  const http: HttpServer = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => http.listen(port, '127.0.0.1', resolve));
  return {
    ranges,
    url: `http://127.0.0.1:${port}`,
    get sent() {
      return sent;
    },
    halt(at) {
      const { promise: then, resolve } = Promise.withResolvers<'on' | 'off'>();
      next = { at, then };
      return { goOn: () => resolve('on'), breakOff: () => resolve('off') };
    },
    close() {
      http.close();
      http.closeAllConnections();
    },
  };
}

interface Asked {
  asset: { id: string };
  task: { id: string };
}

async function imported(path: string, body: object = {}): Promise<Asked> {
  const answer = await server.api.request('POST', '/api/asset/import', { url: films.url + path, ...body });
  expect(answer.status).toBe(201);
  return (await answer.json()) as Asked;
}
// biome-ignore lint/suspicious/noExplicitAny: answers of all kinds
const get = async (path: string): Promise<any> => (await server.api.request('GET', path)).json();

/** The task, when it has ended or is in this phase. */
function reached({ task }: Asked, phase: string) {
  const probe = async () => {
    const found = await get(`/api/task/${task.id}`);
    return found.status.phase === phase && found;
  };
  return until(`task ${task.id} to be ${phase}`, probe, patience);
}

const spool = () => readdirSync(join(server.dataDir, 'uploads'));
const blobsOf = ({ asset }: Asked) =>
  (readdirSync(join(server.dataDir, 'blobs'), { recursive: true }) as string[])
    .filter((name) => name.includes(asset.id) && /\.\w+$/.test(name))
    .map((name) => name.split('/').at(-1));
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** The asset is there, once, and is the film; nothing else is left of its import. */
async function check(asked: Asked): Promise<void> {
  const { output, status } = await reached(asked, 'completed');
  expect(status).toMatchObject({ progress: 1 });
  const asset = await get(`/api/asset/${asked.asset.id}`);
  expect(asset).toMatchObject({ status: 'ready', size: film.length });
  expect(asset.hash).toContainEqual({ algorithm: 'sha256', hash: sha256(film) });
  expect(sha256(await (await fetch(asset.downloadUrl)).bytes())).toBe(sha256(film));
  const { stdout } = await run('ffprobe', [
    ...['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', asset.playbackUrl],
  ]);
  expect(Math.round(Number(stdout))).toBe(6);
  const { assetSpec, videoFilePath, metadataFilePath } = output.import;
  expect(assetSpec.hash).toEqual(asset.hash);
  const blobs = blobsOf(asked);
  for (const path of [videoFilePath, metadataFilePath]) expect(blobs).toContain(path.split('/').at(-1));
  // All of one try: each is named by it.
  expect(new Set(blobs.map((name) => name?.slice(0, 36))).size).toBe(1);
  expect(spool()).toEqual([]);
}

describe('a film of another server', () => {
  it('is imported, over a redirect, and tells how far it is', async () => {
    const half = Math.floor(film.length / 2);
    const halt = films.halt(half);
    const asked = await imported('/moved?signature=hushhush', { name: 'Friday' });
    const progress = async () => (await get(`/api/task/${asked.task.id}`)).status.progress;
    const seen = await until('its progress', async () => (await progress()) || undefined, patience);
    // Where ffmpeg may have to make an mp4 of it, fetching is half of the work.
    expect(seen).toBeGreaterThan(0.2);
    expect(seen).toBeLessThan(0.25);
    expect((await get(`/api/asset/${asked.asset.id}`)).status).toBe('waiting');
    halt.goOn();
    await check(asked);
    const { params } = await get(`/api/task/${asked.task.id}`);
    expect(params).toEqual({ import: { url: `${films.url}/moved?signature=***` } });
    expect(server.output).not.toContain('hushhush');
  });

  it('is gone on with where a connection broke off', async () => {
    const before = { sent: films.sent, ranges: films.ranges.length };
    const at = Math.floor(film.length / 3);
    const halt = films.halt(at);
    const asked = await imported('/friday.mp4');
    await reached(asked, 'running');
    await until('the first third', () => films.sent - before.sent === at, patience);
    // All that was sent is on its way: the socket is closed behind it.
    await until('it to arrive', () => spool().length === 1, patience);
    halt.breakOff();
    await check(asked);
    const [first, ...more] = films.ranges.slice(before.ranges);
    expect(first).toBeUndefined();
    expect(more).toEqual([expect.stringMatching(/^bytes=\d+-$/)]);
    const from = Number(more[0]?.slice('bytes='.length, -1));
    expect(from).toBeGreaterThan(0);
    // Not a byte more than what did not arrive.
    expect(films.sent - before.sent).toBe(at + film.length - from);
  });

  it('is had after kill -9 in the middle of it, once', async () => {
    const halt = films.halt(Math.floor(film.length / 2));
    const asked = await imported('/friday.mp4');
    await reached(asked, 'running');
    await until('the spool', () => spool().length === 1, patience);
    await server.kill();
    halt.breakOff();
    expect(spool()).toHaveLength(1);
    expect(blobsOf(asked)).toEqual([]);
    await server.restart();
    await check(asked);
    expect((await get('/api/asset')).filter(({ id }: { id: string }) => id === asked.asset.id)).toHaveLength(
      1,
    );
  });

  it('that is cancelled meanwhile leaves nothing, and may be tried again', async () => {
    const halt = films.halt(1000);
    const asked = await imported('/friday.mp4');
    await until('the spool', () => spool().length === 1, patience);
    const cancelled = await server.api.request('POST', `/api/task/${asked.task.id}/cancel`);
    expect(cancelled.status).toBe(200);
    await until('the spool to be empty', () => spool().length === 0, patience);
    halt.breakOff();
    await until(
      'the asset to fail',
      async () => (await get(`/api/asset/${asked.asset.id}`)).status === 'failed',
      patience,
    );
    expect(blobsOf(asked)).toEqual([]);
    expect((await server.api.request('POST', `/api/task/${asked.task.id}/retry`)).status).toBe(200);
    await check(asked);
  });
});

it('a film with another codec is imported as an mp4, beside what came', async () => {
  const asked = await imported('/codec.mp4');
  await reached(asked, 'completed');
  const asset = await get(`/api/asset/${asked.asset.id}`);
  expect(asset.videoSpec.tracks[0].codec).toBe('h264');
  const original = await fetch(asset.originalUrl);
  expect(Buffer.from(await original.arrayBuffer()).equals(readFileSync(join(folder, 'codec.mp4')))).toBe(
    true,
  );
});

describe('what cannot be imported', () => {
  it.each([
    ['/metadata', /169\.254\.169\.254.*outbound\.allow/],
    ['/private', /10\.0\.0\.1.*outbound\.allow/],
    ['/gone', /answered 410/],
    ['/page', /^The file was refused: /],
  ])('%s', async (path, message) => {
    const asked = await imported(path);
    const { status } = await reached(asked, 'failed');
    expect(status.errorMessage).toMatch(message);
    const asset = async () => get(`/api/asset/${asked.asset.id}`);
    await until('the asset to fail', async () => (await asset()).status === 'failed', patience);
    expect((await asset()).statusMessage).toBe(status.errorMessage);
    expect([spool(), blobsOf(asked)]).toEqual([[], []]);
  });

  it.each(['http://10.0.0.1/x.mp4', 'ftp://films.example/x.mp4', 'http://films.example:25/x.mp4'])(
    '%s is refused at once',
    async (url) => {
      const answer = await server.api.request('POST', '/api/asset/import', { url });
      expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([
        422,
        'import.bad_url',
      ]);
    },
  );
});
