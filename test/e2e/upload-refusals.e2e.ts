/** Hostile files, uploaded to the whole program: each is refused with its reason, and reaches nothing but itself. */
import { execFile } from 'node:child_process';
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { box, film, ftyp, full, join as joined, mvhd, text, trak, u32 } from '../mp4/build.ts';
import { good, refused } from '../mp4/hostile-files.ts';
import { expectResident, forgetPeak, memoryEnv, peak, residentAfterCollection } from './harness/memory.ts';
import { type Server, startServer } from './harness/server.ts';
import { type Answer, upload } from './harness/uploads.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'millrace-refusals-'));
const path = (name: string) => join(folder, name);
/** Whoever opens it to read waits for a writer for ever. */
const trap = path('trap');
const visits: string[] = [];

let server: Server;
let elsewhere: ReturnType<typeof Bun.serve>;

beforeAll(async () => {
  await run('mkfifo', [trap]);
  elsewhere = Bun.serve({
    ...{ port: 0, hostname: '127.0.0.1' },
    fetch(request) {
      visits.push(request.url);
      return new Response('secret');
    },
  });
  server = await startServer({ env: { ...memoryEnv, MILLRACE_PLUGINS__ASSETS__NORMALISE: 'false' } });
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await elsewhere?.stop(true);
  rmSync(folder, { recursive: true, force: true });
});

/** Sends a file that is to be refused: its reason, which answer, task and asset all tell. */
async function reasonOf(file: string): Promise<string> {
  const { status, body, assetId, taskId } = await upload(server, file);
  expect([status, body.code], JSON.stringify(body)).toEqual([422, 'upload.refused']);
  const [said] = body.errors;
  const [asset, task] = await Promise.all([get(`/api/asset/${assetId}`), get(`/api/task/${taskId}`)]);
  expect([asset.status, asset.statusMessage]).toEqual(['failed', said]);
  expect([task.status.phase, task.status.errorMessage]).toEqual(['failed', said]);
  expect(said.startsWith('The file was refused: ') && said.endsWith('.')).toBe(true);
  return said.slice('The file was refused: '.length, -1);
}
const get = async (url: string): Promise<Answer> => (await server.api.request('GET', url)).json();

const write = (name: string, bytes: string | Uint8Array): string => {
  writeFileSync(path(name), bytes);
  return path(name);
};

/** Whose samples are said to lie somewhere else. */
const reference = (url: string) =>
  film(mvhd(), trak({ dref: full('dref', 0, 0, u32(1), full('url ', 0, 0, text(`${url}\0`))) }));

describe('files that point elsewhere', () => {
  const playlist = (url: string) => `#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n${url}\n#EXT-X-ENDLIST\n`;
  const ways: [name: string, make: (url: string) => string | Uint8Array, reason: RegExp][] = [
    ['an HLS playlist', playlist, /is an HLS playlist; expected an mp4/],
    ['ffconcat', (url) => `ffconcat version 1.0\nfile '${url}'\n`, /concat; expected an mp4/],
    ['DASH', (url) => `<?xml version="1.0"?><MPD><BaseURL>${url}</BaseURL></MPD>`, /expected an mp4/],
    ['SDP', (url) => `v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\na=control:${url}\n`, /expected an mp4/],
    ['an mp4 with its data in another file', reference, /lie in another file \(dref url \)/],
  ];

  it.each(ways)('%s', async (_name, make, reason) => {
    const { port } = elsewhere;
    for (const url of [
      `http://127.0.0.1:${port}/secret`,
      `http://localhost:${port}/`,
      `file://${trap}`,
      trap,
    ])
      expect(await reasonOf(write('points.mp4', make(url)))).toMatch(reason);
  });

  it('were not followed', async () => {
    expect(visits).toEqual([]);
    // Nobody waits for what a writer would say. Opened without one, it would have kept whoever did.
    expect(() => closeSync(openSync(trap, constants.O_WRONLY | constants.O_NONBLOCK))).toThrow('ENXIO');
  });
});

it('what no encoder makes: a line of test/mp4/hostile-files.ts each', async () => {
  const reasons: [string, string][] = [];
  for (const [name, bytes] of refused) reasons.push([name, await reasonOf(write('lies.mp4', bytes))]);
  const expected = refused.map(([name, , reason]) => [name, expect.stringMatching(reason)]);
  expect(reasons).toEqual(expected);
}, 120_000);

it('what encoders make, and is no mp4 with H.264 and AAC', async () => {
  const picture = ['-f', 'lavfi', '-i', 'testsrc2=s=320x180:r=25:d=2'];
  const sound = ['-f', 'lavfi', '-i', 'sine=d=2'];
  const h264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-c:a', 'aac'];
  const hevc = ['-c:v', 'libx265', '-preset', 'ultrafast', '-x265-params', 'log-level=none'];
  const make = async (name: string, args: readonly string[]) => {
    await run('ffmpeg', ['-v', 'error', '-y', ...args, path(name)]);
    return path(name);
  };
  const plain = await make('plain.mp4', [...picture, ...sound, ...h264]);
  const bytes = readFileSync(plain);
  const files: [file: string, reason: RegExp][] = [
    [await make('hevc.mp4', [...picture, ...hevc]), /is HEVC .*; expected H.264/],
    [await make('mp3.mp4', [...picture, ...sound, ...h264, '-c:a', 'libmp3lame']), /is MP3; expected AAC/],
    [await make('mkv.mp4', [...picture, ...h264, '-f', 'matroska']), /is Matroska or WebM; expected an mp4/],
    [await make('ts.mp4', [...picture, ...h264, '-f', 'mpegts']), /MPEG transport stream; expected an mp4/],
    [write('half.mp4', bytes.subarray(0, bytes.length / 2)), /cut off/],
    [write('almost.mp4', bytes.subarray(0, -1)), /cut off/],
  ];
  for (const [file, reason] of files) expect(await reasonOf(file)).toMatch(reason);
}, 120_000);

it('costs a bounded memory, whatever an index claims to be', async () => {
  const before = await residentAfterCollection(server);
  forgetPeak(server);
  const mebi = 1_048_576;
  // 65 MiB of index, and one that is as large as it may be and holds nothing but boxes.
  const large = joined(ftyp, u32(65 * mebi), text('moov'));
  write('large.mp4', large);
  truncateSync(path('large.mp4'), ftyp.length + 65 * mebi);
  expect(await reasonOf(path('large.mp4'))).toMatch(/index is too large/);
  const boxes = joined(
    ftyp,
    box('moov', new Uint8Array(Buffer.alloc(60 * mebi, joined(u32(8), text('free'))))),
  );
  expect(await reasonOf(write('boxes.mp4', boxes))).toMatch(/contains more than 10000/);
  const few = joined(ftyp, box('moov', mvhd(36_000_000), trak()), good.subarray(ftyp.length));
  expect(await reasonOf(write('hours.mp4', few))).toMatch(/claims to last|two moov boxes/);
  // A body is in memory in pieces, its index once.
  expect(peak(server) - before).toBeLessThan(200 * mebi);
  await expectResident(server, { atMost: before + 64 * mebi, what: 'large indexes' });
});

it('leaves nothing behind, and a good file is taken as before', async () => {
  expect(readdirSync(join(server.dataDir, 'uploads'))).toEqual([]);
  const { stdout } = await run('find', [join(server.dataDir, 'blobs'), '-type', 'f']);
  expect(
    stdout
      .trim()
      .split('\n')
      .map((file) => file.slice(-10)),
  ).toEqual(['owner.json']);
  const { status, body } = await upload(server, write('good.mp4', good));
  expect([status, body.status]).toEqual([200, 'ready']);
});
