import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { S3Client } from 'bun';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unpacked } from '../ipfs/unpack.ts';
import { engineFor } from '../kit/engines.ts';
import { type Server, startServer } from './harness/server.ts';
import { until } from './harness/wait.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'millrace-exports-'));
const s3 = await engineFor('s3');
const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** A film by ffmpeg, with a box behind it that players pass over: it is as large as a film of half an hour. */
async function makeFilm(): Promise<Buffer> {
  const path = join(folder, 'film.mp4');
  await run('ffmpeg', [
    ...['-v', 'error', '-f', 'lavfi', '-i', 'testsrc2=size=320x180:rate=25:duration=2'],
    ...['-f', 'lavfi', '-i', 'sine=frequency=440:duration=2', '-pix_fmt', 'yuv420p'],
    ...['-c:v', 'libx264', '-preset', 'ultrafast', '-c:a', 'aac', path],
  ]);
  const free = randomBytes(96 * 1024 * 1024);
  free.writeUInt32BE(free.length, 0);
  free.write('free', 4, 'latin1');
  return Buffer.concat([readFileSync(path), free]);
}

let server: Server;
let film: Buffer;
let asset: { id: string };

beforeAll(async () => {
  film = await makeFilm();
  server = await startServer();
  const asked = await server.api.request('POST', '/api/asset/request-upload', { name: 'Friday show' });
  const { url, asset: made } = (await asked.json()) as { url: string; asset: { id: string } };
  const answer = await fetch(url, { method: 'PUT', body: new Uint8Array(film) });
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('ready')]);
  asset = made;
}, 120_000);

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

// biome-ignore lint/suspicious/noExplicitAny: answers of all kinds
const read = async (path: string): Promise<any> => (await server.api.request('GET', path)).json();

/** The id of the task. */
async function exported(body: object): Promise<string> {
  const answer = await server.api.request('POST', `/api/asset/${asset.id}/export`, body);
  const { task } = (await answer.json()) as { task: { id: string } };
  expect(answer.status).toBe(201);
  return task.id;
}

/** The task object when it has ended. */
async function ended(id: string) {
  const task = async () => {
    const found = await read(`/api/task/${id}`);
    return ['completed', 'failed', 'cancelled'].includes(found.status.phase) && found;
  };
  return until('the export to end', task, { within: 60_000, every: 50 });
}

async function completed(id: string) {
  const task = await ended(id);
  expect(task.status).toMatchObject({ phase: 'completed', progress: 1 });
  return task.output.export;
}

const cars = () => join(server.dataDir, 'blobs', 'assets', asset.id, 'exports');
/** What the CAR with this root holds; each of its blocks is what its CID says. */
async function packed(cid: string): Promise<Buffer> {
  for (const name of readdirSync(cars())) {
    const { root, bytes } = await unpacked(readFileSync(join(cars(), name)));
    if (root === cid) return bytes;
  }
  throw new Error(`there is no CAR of ${cid}`);
}

/** What is left of work that was broken off. */
function leftovers(): string[] {
  const places = ['blobs/.scratch', 'uploads', 'packing'].map((name) => join(server.dataDir, name));
  return places.flatMap((place) =>
    existsSync(place) ? readdirSync(place).map((name) => `${place}/${name}`) : [],
  );
}

/** What each request brought, by its path. */
interface Got {
  readonly request: IncomingMessage;
  readonly size: number;
  readonly hash: string;
}

/** A receiver that may be told to stop taking what is sent to it. */
async function receiver() {
  const got: Got[] = [];
  let isHeld = false;
  let begun = 0;
  const held = new Set<IncomingMessage>();
  const http = createServer((request, response) => {
    const hash = createHash('sha256');
    let size = 0;
    begun += 1;
    request.on('error', () => {});
    request.on('data', (bytes: Buffer) => {
      hash.update(bytes);
      size += bytes.length;
      if (!isHeld) return;
      held.add(request);
      request.pause();
    });
    request.on('end', () => {
      got.push({ request, size, hash: hash.digest('hex') });
      response.writeHead(200, { etag: '"of-the-receiver"' }).end();
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address() as { port: number };
  return {
    got,
    url: `http://127.0.0.1:${port}`,
    get begun() {
      return begun;
    },
    hold() {
      isHeld = true;
    },
    goOn() {
      isHeld = false;
      for (const request of held) request.resume();
      held.clear();
    },
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

it('to IPFS, packed beside the asset: the CAR has the file under the CID that was answered', async () => {
  const metadata = { image: 'ipfs://pic', properties: { show: 'Friday' } };
  const { ipfs } = await completed(await exported({ ipfs: { erc1155Metadata: metadata } }));
  expect(hashOf(await packed(ipfs.videoFileCid))).toBe(hashOf(film));
  expect(JSON.parse(String(await packed(ipfs.erc1155MetadataCid)))).toEqual({
    ...{ name: 'Friday show', description: 'Video: Friday show', image: 'ipfs://pic' },
    ...{ animation_url: ipfs.videoFileUrl, properties: { video: ipfs.videoFileUrl, show: 'Friday' } },
  });
  expect(ipfs).toMatchObject({
    ...{ videoFileUrl: `ipfs://${ipfs.videoFileCid}`, nftMetadataCid: ipfs.erc1155MetadataCid },
    videoFileGatewayUrl: `${server.url}/ipfs/${ipfs.videoFileCid}`,
  });
  const again = await completed(await exported({ ipfs: { nftMetadata: metadata } }));
  expect(again.ipfs).toEqual(ipfs);
  expect(readdirSync(cars())).toHaveLength(2);
  expect(leftovers()).toEqual([]);
});

describe.skipIf(s3.isMissing)('to a signed URL of S3', () => {
  const bucket = async () => {
    const { endpoint, bucket, region, accessKeyId, secretAccessKey } = await s3.shared();
    return new S3Client({ endpoint, bucket, region, accessKeyId, secretAccessKey });
  };

  it('is stored there as it is', async () => {
    const client = await bucket();
    const url = client.presign('shows/friday.mp4', { method: 'PUT', expiresIn: 600 });
    const { custom } = await completed(await exported({ custom: { url } }));
    expect(custom).toMatchObject({ status: 200, etag: expect.stringMatching(/^"[0-9a-f]+"$/) });
    const stored = client.file('shows/friday.mp4');
    expect(hashOf(await stored.bytes())).toBe(hashOf(film));
    expect((await stored.stat()).type).toBe('video/mp4');
  });

  it('fails with its reason when the signature is wrong, and shows nothing of that', async () => {
    const url = new URL((await bucket()).presign('shows/other.mp4', { method: 'PUT', expiresIn: 600 }));
    const signature = url.searchParams.get('X-Amz-Signature') ?? '';
    url.searchParams.set('X-Amz-Signature', signature.replace(/./g, '0'));
    const { host } = url;
    const task = await ended(await exported({ custom: { url: url.href } }));
    expect(task.status).toMatchObject({
      phase: 'failed',
      errorMessage: `The export was refused: ${host} answered 403 (SignatureDoesNotMatch).`,
    });
    expect(JSON.stringify(task)).not.toContain('X-Amz');
    expect(server.output).not.toContain('X-Amz');
  });
});

it('kill -9 in the midst: every export that was accepted is done after the restart, and nothing is left over', async () => {
  await using to = await receiver();
  to.hold();
  const secret = 'token-0123456789';
  const custom = (name: string) => ({
    url: `${to.url}/${name}?sig=${secret}`,
    headers: { 'x-token': secret },
  });
  const sent = [await exported({ custom: custom('a') }), await exported({ custom: custom('b') })];
  await until('both to be sent', () => to.begun >= 2, { within: 20_000 });
  // Another document, so another CAR is made; and the film is packed once more.
  const packing = await exported({ ipfs: { erc1155Metadata: { name: 'Again' } } });
  const last = await exported({ custom: custom('c') });
  await until('the file to be packed', () => leftovers().length > 0, { within: 20_000, every: 2 });
  await server.kill();
  to.goOn();
  await server.restart();
  for (const id of [...sent, last]) {
    expect(await completed(id)).toEqual({ custom: { status: 200, etag: '"of-the-receiver"' } });
  }
  const whole = to.got.filter(({ size, hash }) => size === film.length && hash === hashOf(film));
  expect(new Set(whole.map(({ request }) => request.url?.slice(0, 2)))).toEqual(new Set(['/a', '/b', '/c']));
  expect(new Set(whole.map(({ request }) => request.headers['x-token']))).toEqual(new Set([secret]));
  const { ipfs } = await completed(packing);
  expect(hashOf(await packed(ipfs.videoFileCid))).toBe(hashOf(film));
  expect(JSON.parse(String(await packed(ipfs.erc1155MetadataCid))).name).toBe('Again');
  expect(leftovers()).toEqual([]);
  expect(server.output).not.toContain(secret);
  expect(JSON.stringify(await read('/api/task'))).not.toContain(secret);
});

it('kill -9 at any moment: what was answered 201 is done', async () => {
  await using to = await receiver();
  for (const wait of [0, 100, 300]) {
    const asked = [
      ...Array.from({ length: 3 }, (_, n) => exported({ custom: { url: `${to.url}/${wait}-${n}` } })),
      exported({ ipfs: { erc1155Metadata: { name: `At ${wait}` } } }),
    ].map((one) => one.catch(() => undefined));
    await Bun.sleep(wait);
    await server.kill();
    const ids = (await Promise.all(asked)).filter((id) => id !== undefined);
    await server.restart();
    for (const id of ids) await completed(id);
    // What the API knows is what was accepted: nobody waits for ever.
    for (const { id } of await read('/api/task?limit=100')) await ended(id);
  }
  expect(leftovers()).toEqual([]);
});

it('deleting the asset ends its exports and takes what was packed with it', async () => {
  await using to = await receiver();
  to.hold();
  const id = await exported({ custom: { url: to.url } });
  await until('it to be sent', () => to.begun > 0, { within: 20_000 });
  expect((await server.api.request('DELETE', `/api/asset/${asset.id}`)).status).toBe(204);
  expect((await ended(id)).status.phase).toBe('cancelled');
  await until('the blobs to be gone', () => !existsSync(cars()), { within: 20_000 });
});
