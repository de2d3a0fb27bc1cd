/** Pictures of media of every kind, by a real ffmpeg, without a server around it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fakeFfmpeg } from '../ffmpeg/fake.ts';
import { fragmentsOf, orderOf, realStills, sourceOf } from './kit.ts';
import { numberIn } from './shown.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-stills-'));
const clip = ['-i', 'demo/clip.flv', '-t', '8', '-an'];
const plain = ['-c:v', 'libx264', '-preset', 'ultrafast', '-bf', '0', '-g', '60', '-vsync', 'passthrough'];
type Film = Awaited<ReturnType<typeof fragmentsOf>>;
let film: Film;
let small: Film;
let large: Film;

beforeAll(async () => {
  film = await fragmentsOf(folder, { name: 'film', args: [...clip, ...plain, '-s', '640x360'] });
  small = await fragmentsOf(folder, { name: 'small', args: [...clip, ...plain, '-s', '480x360'] });
  const black = [
    '-f',
    'lavfi',
    '-i',
    'color=gray:s=8192x5120:r=1:d=1',
    '-frames:v',
    '1',
    '-pix_fmt',
    'yuv420p',
  ];
  const frugal = ['-threads', '1', '-x264-params', 'ref=1:rc-lookahead=0'];
  large = await fragmentsOf(folder, { name: 'large', args: [...black, ...plain, ...frugal] });
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** With another size in its sample entry, of which the decoder knows nothing. */
function saying(init: Buffer, { width, height }: { width: number; height: number }): Buffer {
  const changed = Buffer.from(init);
  const entry = changed.indexOf('avc1', 100, 'latin1') + 4;
  changed.writeUInt16BE(width, entry + 24);
  changed.writeUInt16BE(height, entry + 26);
  return changed;
}

it('a key frame is read and nothing else of its segment', async () => {
  using made = realStills();
  let most = 0;
  const [, segment] = film.segments;
  const read = ({ to }: { to: number }) => {
    most = Math.max(most, to);
  };
  const source = sourceOf({ ...film, segment }, { read });
  const still = await made.stills.make(orderOf({ pictures: [{ sources: [source] }] }));
  expect(await numberIn(still.bytes)).toBe(60);
  expect([still.width, still.height]).toEqual([640, 360]);
  expect(most).toBeLessThan(segment.length / 2);
});

it('a sheet has each picture in its place: of two formats, and where one is damaged', async () => {
  using made = realStills();
  const damaged = Buffer.from(film.segments[1]);
  // Its index is as it was; what it leads to is noise.
  damaged.fill(0x55, damaged.readUInt32BE(0) + 8);
  const garbled = Buffer.from(film.segments[3]).fill(0x55);
  const pictures = [
    sourceOf({ ...film, segment: film.segments[0] }),
    sourceOf({ ...film, segment: damaged }),
    sourceOf({ ...film, segment: film.segments[2] }),
    sourceOf({ ...small, segment: small.segments[3] }, { id: 'b' }),
    sourceOf({ ...small, segment: small.segments[0] }, { id: 'b' }),
    sourceOf({ ...film, segment: garbled }),
    sourceOf({ ...film, segment: film.segments[1] }),
  ].map((source) => ({ sources: [source] }));
  const sheet = await made.stills.make(orderOf({ pictures, columns: 3, width: 480, height: 480 }));
  expect([sheet.width, sheet.height]).toEqual([1440, 810]);
  const numbers: (number | null)[] = [];
  for (let row = 0; row < 7; row += 1) {
    // Those of the other shape stand in the middle, between bars.
    const isSmall = row === 3 || row === 4;
    const [x, y] = [(row % 3) * 480, Math.floor(row / 3) * 270];
    numbers.push(
      await numberIn(sheet.bytes, { x: x + (isSmall ? 60 : 0), y, width: isSmall ? 360 : 480, height: 270 }),
    );
  }
  expect(numbers).toEqual([0, 0, 120, 180, 0, 60, 60]);
});

it('moments of a segment that are wanted together are each the same as alone', async () => {
  const deep = await fragmentsOf(folder, {
    name: 'deep',
    args: [...clip, ...plain, '-s', '640x360', '-bf', '3', '-b_strategy', '0'],
  });
  const [, segment] = deep.segments;
  // On a busy machine a picture may take longer than its usual 10 s.
  using made = realStills({ deadline: 40_000 });
  const picture = async (at: number, options: { segment?: string }) => {
    const pictures = [{ sources: [sourceOf({ ...deep, segment }, { at })] }];
    return numberIn((await made.stills.make(orderOf({ pictures }, options))).bytes);
  };
  const times = [1.31, 0, 0.5, 0.967, 99];
  const together = await Promise.all(times.map((at) => picture(at, { segment: 's' })));
  expect(new Set(together).size).toBe(times.length);
  for (const [row, at] of times.entries()) expect([at, await picture(at, {})]).toEqual([at, together[row]]);
});

it('a picture that is too large is refused: by its file before anything runs, by the decoder where the file lies', async () => {
  using made = realStills();
  const [segment] = large.segments;
  const huge = saying(film.init, { width: 16_384, height: 16_384 });
  const said = sourceOf({ init: huge, segment: film.segments[0] });
  await expect(made.stills.make(orderOf({ pictures: [{ sources: [said] }] }))).rejects.toMatchObject({
    ...{ code: 'still.none', status: 404 },
    message: expect.stringContaining('268435456 pixels'),
  });
  for (const init of [large.init, saying(large.init, { width: 640, height: 360 })]) {
    const order = orderOf({ pictures: [{ sources: [sourceOf({ init, segment })] }] });
    await expect(made.stills.make(order)).rejects.toMatchObject({ code: 'still.none' });
  }
});

it('what is no media, or hangs in the middle, is none: nothing else is read, nothing waits for ever', async () => {
  using made = realStills();
  const playlist = Buffer.from('#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n'.padEnd(400));
  for (const [init, segment] of [
    [film.init, playlist],
    [playlist, film.segments[0]],
    [film.init, film.segments[0].subarray(0, 3000)],
    [film.init, Buffer.alloc(0)],
    [film.init.subarray(0, 500), film.segments[0]],
  ]) {
    const order = orderOf({ pictures: [{ sources: [sourceOf({ init, segment }, { at: 1 })] }] });
    await expect(made.stills.make(order)).rejects.toMatchObject({ code: 'still.none' });
  }
});

it.each([
  'cat >/dev/null; exec sleep 60',
  'exec sleep 60',
  'trap "" TERM; while :; do echo x; sleep 0.1; done',
])('a decoder that hangs is killed by its deadline: %s', async (script) => {
  await using fake = await fakeFfmpeg(script);
  using made = realStills({ path: fake.path, deadline: 700 });
  const source = sourceOf({ ...film, segment: film.segments[0] }, { at: 1 });
  const order = orderOf({ pictures: [{ sources: [source] }] });
  await expect(made.stills.make(order)).rejects.toMatchObject({ code: 'still.failed', retryAfter: 5 });
  expect([made.runner.running, made.stills.totals().running]).toEqual([0, 0]);
  // Who asks again at once is told the same, and nothing is started.
  await expect(made.stills.make(order)).rejects.toMatchObject({ code: 'still.failed' });
});

it('one that floods its output, or dies, is at an end', async () => {
  const source = sourceOf({ ...film, segment: film.segments[0] }, { at: 1 });
  for (const [script, code] of [
    ['exec cat /dev/zero', 'still.failed'],
    ['kill -9 $$', 'still.failed'],
    ['exit 1', 'still.none'],
    ['echo no picture', 'still.failed'],
  ]) {
    await using fake = await fakeFfmpeg(script);
    using made = realStills({ path: fake.path });
    const order = orderOf({ pictures: [{ sources: [source] }] });
    await expect(made.stills.make(order), script).rejects.toMatchObject({ code });
    expect(made.runner.running).toBe(0);
  }
});
