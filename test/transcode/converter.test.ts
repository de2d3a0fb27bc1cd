import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { uuid } from '../../core/base/ids.ts';
import type { Container } from '../../core/ports/inspector.ts';
import { argumentsOf } from '../../runtime/media/ffmpeg/command.ts';
import type { FfmpegEnd } from '../../runtime/media/ffmpeg/process.ts';
import type { FfmpegRunner } from '../../runtime/media/ffmpeg/runner.ts';
import { ffmpegConverter } from '../../runtime/media/transcode/converter.ts';
import { patient } from '../kit/patient.ts';
import { type ScriptedProcess, scriptedFfmpeg } from '../kit/scripted-ffmpeg.ts';
import { virtualClock } from '../kit/virtual-clock.ts';

const profile = { name: '480p', width: 854, height: 480, bitrate: 1_000_000, fps: 0 };
const spec = {
  ...{ format: 'mp4', duration: 8, bitrate: 1000 },
  tracks: [
    { type: 'video', codec: 'h264', duration: 8, bitrate: 800, fps: 30, width: 1280, height: 720 },
    { type: 'audio', codec: 'aac', duration: 8, bitrate: 200, channels: 2, sampleRate: 48_000 },
  ],
} as const;

/** A converter whose processes do what a test says, and end when they are killed. */
function studio(options: { running?: number; refuses?: 'missing' } = {}) {
  const clock = virtualClock({ start: 0 });
  const inner = scriptedFfmpeg(options);
  const runner: FfmpegRunner = {
    ...inner,
    async start(order) {
      const process = await inner.start(order);
      if (!process.ok) return process;
      const kill = () => {
        process.kill();
        void scriptOf(order).exit({ code: undefined, signal: 'SIGKILL' });
      };
      return { ...process, kill };
    },
  };
  const scriptOf = (order: ScriptedProcess['order']) =>
    inner.started.find((one) => one.order === order) as ScriptedProcess;
  const bytes = Buffer.from('the bytes of a film');
  const blobs = {
    async get(key: string, { range }: { range?: { from?: number; to?: number } } = {}) {
      const { from = 0, to = bytes.length } = range ?? {};
      if (key === 'gone.mp4') return { outcome: 'absent' as const };
      const body = new Blob([bytes.subarray(from, to)]).stream();
      return { outcome: 'ok' as const, blob: {} as never, from, to, body };
    },
  };
  const converter = ffmpegConverter({
    memory: 2 ** 31,
    ...{ clock, runner, blobs: blobs as never, running: options.running ?? 2, threads: 3 },
    h264: { encoder: 'libx264', preset: 'veryfast' },
  });
  const leaving = new AbortController();
  const transcode = (key = 'film.mp4', of: object = spec, rate: { fps?: number; fpsDen?: number } = {}) =>
    converter.transcode(
      { video: { key, size: bytes.length, sha256: '' }, spec: of as never },
      { account: 'a', profile: { ...profile, ...rate }, signal: leaving.signal, progress() {} },
    );
  const started = async (count: number) => {
    // A film is opened by a thread of the pool, in real time.
    await vi.waitUntil(() => clock.advance(0).then(() => inner.started.length >= count), patient);
    return inner.started[count - 1];
  };
  return { clock, converter, transcode, started, all: inner.started, bytes, leave: leaving };
}

const box = (type: string, ...parts: Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + body.length);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, body]);
};
const words = (...values: number[]) => {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index);
  return bytes;
};
/** The index of an mp4 in fragments with one video track of this codec. */
const movie = (codec = 'vp09') =>
  box(
    'moov',
    box(
      'trak',
      box('tkhd', words(0, 0, 0, 1), Buffer.alloc(68)),
      box(
        'mdia',
        box('mdhd', words(0, 0, 0, 1000, 0, 0)),
        box('hdlr', words(0, 0), Buffer.from('vide'), words(0, 0, 0)),
        box('minf', box('stbl', box('stsd', words(0, 1), box(codec, Buffer.alloc(78))))),
      ),
    ),
  );
/** So many pictures from this second on. */
const fragment = (second: number, pictures: number) => [
  box(
    'moof',
    box(
      'traf',
      box('tfhd', words(0, 1)),
      box('tfdt', words(0, 1000 * second)),
      box('trun', words(0, pictures)),
    ),
  ),
  box('mdat', Buffer.from('pictures')),
];
const film = (...fragments: Buffer[][]) =>
  Buffer.concat([box('ftyp', Buffer.alloc(8)), movie(), ...fragments.flat()]);
const say = (process: ScriptedProcess, bytes: Uint8Array) => void process.order.handlers.onOutput?.(bytes);
const exit = (process: ScriptedProcess, end: Partial<FfmpegEnd> = {}) => process.exit({ code: 0, ...end });
const failure = (stream: ReadableStream<Uint8Array>) =>
  new Response(stream).bytes().then(
    () => undefined,
    (error: unknown) => error as { code: string; message: string },
  );

it('hands the film on as it is written, and ffmpeg the film as it is read', async () => {
  const { transcode, started, bytes, converter } = studio();
  const made = new Response(transcode()).bytes();
  const process = await started(1);
  expect(converter.totals()).toMatchObject({ running: 1, waiting: 0 });
  const whole = film(fragment(0, 60), fragment(2, 60));
  for (const [from, to] of [
    [0, 5],
    [5, 100],
    [100, whole.length],
  ])
    await process.order.handlers.onOutput?.(whole.subarray(from, to));
  await vi.waitUntil(() => process.calls.includes('end'), patient);
  expect(Buffer.concat(process.taken)).toEqual(bytes);
  await exit(process);
  expect(Buffer.from(await made)).toEqual(whole);
  expect(converter.totals()).toEqual({
    running: 0,
    waiting: 0,
    ended: { done: 1, refused: 0, broken_off: 0 },
  });
});

it('lets ffmpeg read nothing but its input, as the container that we named, at low priority', async () => {
  const { transcode, started, leave } = studio();
  const made = failure(transcode());
  const { order } = await started(1);
  expect(order.niceness).toBe(10);
  const given = argumentsOf(order.command, { hides: true }).join(' ');
  expect(given.match(/-i \S+/g)).toEqual(['-i pipe:0']);
  for (const part of [
    ...['-protocol_whitelist pipe', '-format_whitelist mov', '-max_pixels 35651584', '-enable_drefs 0'],
    ...['-threads 3', '-c:v:0 libx264', '-b:v:0 1000000', 'expr:gte(t,n_forced*2)', '-f mp4 pipe:1'],
  ])
    expect(given).toContain(part);
  leave.abort(new Error('left'));
  expect((await made)?.message).toBe('left');
});

it('refuses what is beyond its limits before ffmpeg is started', async () => {
  const { transcode, all } = studio();
  const huge = { ...spec, tracks: [{ ...spec.tracks[0], width: 16_384, height: 16_384 }] };
  const fast = { ...spec, tracks: [{ ...spec.tracks[0], fps: 10_000 }] };
  expect(await failure(transcode('film.mp4', huge))).toMatchObject({ code: 'conversion.refused' });
  expect(await failure(transcode('film.mp4', fast))).toMatchObject({ code: 'conversion.refused' });
  expect(all).toEqual([]);
});

it('says that there is no ffmpeg', async () => {
  const { transcode } = studio({ refuses: 'missing' });
  expect(await failure(transcode())).toMatchObject({
    ...{ code: 'conversion.unavailable', retryAfter: 60, message: expect.stringContaining('not installed') },
  });
});

it('kills a decoder that hangs', async () => {
  const { clock, transcode, started } = studio();
  const made = failure(transcode());
  const process = await started(1);
  say(process, film(fragment(0, 60)));
  await vi.waitUntil(() => process.calls.includes('end'), patient);
  await clock.advance(170_000);
  expect(process.calls).not.toContain('kill');
  await clock.advance(20_000);
  expect(process.calls).toContain('kill');
  expect(await made).toMatchObject({
    ...{ code: 'conversion.refused', message: expect.stringContaining('hung'), retry: false },
  });
  expect(clock.pending()).toBe(0);
});

it('kills one that goes on for ever', async () => {
  const { clock, transcode, started } = studio();
  const made = failure(transcode());
  const process = await started(1);
  say(process, film(fragment(0, 60)));
  for (let minute = 0; minute < 12 && !process.calls.includes('kill'); minute += 1) {
    await clock.advance(60_000);
    say(process, box('free', Buffer.alloc(8)));
    await clock.advance(0);
  }
  expect(process.calls).toContain('kill');
  expect((await made)?.message).toContain('it takes too long');
});

it('lets pictures through or leaves them out, and never makes one', async () => {
  const { transcode, started } = studio();
  const made = failure(transcode('film.mp4', spec, { fps: 250 }));
  const process = await started(1);
  const { options } = process.order.command.output;
  expect(options?.['filter:v:0']).toMatch(
    /^select='if\(isnan\(prev_selected_t\),1,gt\(floor\(t\*250\/1\+0.1\),/,
  );
  expect(JSON.stringify(options)).not.toContain('fps=');
  await exit(process, { code: 1 });
  await made;
});

it.each([
  // Of all that are there: 600 s, 5 s for each of 120, and 0.2 s for each second of film.
  [{}, 600 + 600 + 0.2 * 18_000],
  // One of many: a minute for each second that is left out.
  [{ fps: 1, fpsDen: 10 }, 600 + 120 * (5 + 600) + 0.2 * 18_000],
])('gives a film of few pictures no more time than those are worth: %j', async (rate, seconds) => {
  const { clock, transcode, started } = studio();
  const made = failure(transcode('film.mp4', spec, rate));
  const process = await started(1);
  say(process, film(fragment(0, 60), fragment(9000, 60), fragment(18_000, 1)));
  await vi.waitUntil(() => process.calls.includes('end'), patient);
  let worked = 0;
  for (; worked < 2 * seconds && !process.calls.includes('kill'); worked += 100) {
    await clock.advance(100_000);
    say(process, box('free', Buffer.alloc(8)));
    await clock.advance(0);
  }
  expect(Math.abs(worked - seconds)).toBeLessThanOrEqual(200);
  expect((await made)?.message).toContain('it takes too long');
});

it('counts neither time that the film is not read, nor that the store is away', async () => {
  const { clock, transcode, started } = studio();
  const reader = transcode().getReader();
  const first = reader.read();
  const process = await started(1);
  say(process, film(fragment(0, 60)));
  await first;
  say(process, Buffer.concat(fragment(2, 60)));
  await clock.advance(3_600_000);
  expect(process.calls).not.toContain('kill');
  await reader.read();
  const end = reader.read();
  await exit(process);
  expect((await end).done).toBe(true);
});

/** A file that is normalised, and is gone afterwards. */
async function normalised(
  { converter }: ReturnType<typeof studio>,
  { container = 'matroska', isAnew = false }: { container?: Container; isAnew?: boolean } = {},
) {
  const path = join(tmpdir(), `millrace-${uuid()}.film`);
  await writeFile(path, 'a film');
  const signal = new AbortController().signal;
  const file = { path, size: 6, foreign: { container } };
  const stream = converter.normalise(file, { account: 'a', signal, isAnew, progress() {} });
  return { stream, [Symbol.asyncDispose]: () => rm(path) };
}

const encodes = ({ order }: ScriptedProcess) =>
  ['c:v:0', 'c:a:0'].map((name) => order.command.output.options?.[name]);

it('refuses a film with too many pictures while it is read', async () => {
  const s = studio();
  await using given = await normalised(s, { isAnew: true });
  const made = failure(given.stream);
  const process = await s.started(1);
  say(process, film(fragment(0, 10_000), fragment(1, 10_000)));
  await s.clock.advance(6000);
  expect(process.calls).toContain('kill');
  expect((await made)?.message).toContain('more than 250 pictures a second');
});

it('refuses a film of whose pictures none came out, whatever there is of its sound', async () => {
  const s = studio();
  await using given = await normalised(s, { isAnew: true });
  const made = failure(given.stream);
  const process = await s.started(1);
  say(process, film());
  await exit(process);
  expect(await made).toMatchObject({
    ...{
      code: 'conversion.refused',
      message: 'The film is not converted: none of its pictures could be read.',
    },
  });
});

it('takes over what it can, and encodes the rest: no byte of what was tried in vain is handed on', async () => {
  const s = studio();
  await using given = await normalised(s);
  const made = new Response(given.stream).bytes();
  const first = await s.started(1);
  expect(encodes(first)).toEqual(['copy', 'copy']);
  say(first, Buffer.concat([box('ftyp', Buffer.alloc(8)), movie('vp09')]));
  const second = await s.started(2);
  expect(first.calls).toContain('kill');
  expect(encodes(second)).toEqual(['libx264', 'copy']);
  await exit(second, { code: 1, errors: 'Could not find tag for codec pcm_s16le in stream #1' });
  const third = await s.started(3);
  expect(encodes(third)).toEqual(['libx264', 'aac']);
  const whole = film(fragment(0, 60));
  say(third, whole);
  await new Promise((resolve) => setImmediate(resolve));
  await exit(third);
  expect(Buffer.from(await made)).toEqual(whole);
});

it.each<[Container, string]>([
  ['mp4', 'mov'],
  ['matroska', 'matroska'],
  ['mpegts', 'mpegts'],
  ['flv', 'flv'],
  ['avi', 'avi'],
  ['mpeg', 'mpeg'],
])('reads %s by the demuxer %s alone', async (container, demuxer) => {
  const s = studio();
  await using given = await normalised(s, { container, isAnew: true });
  const made = failure(given.stream);
  const process = await s.started(1);
  const { input } = process.order.command;
  expect([input.format, input.options?.format_whitelist]).toEqual([container, demuxer]);
  await exit(process, { code: 1 });
  expect((await made)?.code).toBe('conversion.refused');
});

it.each<[Partial<FfmpegEnd>, string, RegExp]>([
  [
    { code: 1, errors: 'Picture size 16383x16383 is invalid' },
    'conversion.refused',
    /pictures are too large/,
  ],
  [{ code: 1, errors: "Stream map '0:V:0' matches no streams." }, 'conversion.refused', /has no video/],
  [{ code: 1, errors: 'Invalid data found' }, 'conversion.refused', /cannot read it/],
  [{ code: undefined, signal: 'SIGSEGV' }, 'conversion.refused', /crashed/],
  [{ code: undefined, signal: 'SIGKILL' }, 'conversion.unavailable', /was killed/],
  [{ code: 1, errors: "Unknown encoder 'libx264'" }, 'conversion.unavailable', /cannot use the encoder/],
  [{ code: 0 }, 'conversion.refused', /no pictures/],
])('an end of %j is told as %s', async (end, code, message) => {
  const { transcode, started } = studio();
  const made = failure(transcode());
  const process = await started(1);
  await exit(process, end);
  expect(await made).toMatchObject({ code, message: expect.stringMatching(message) });
});

it('ends the process when nobody reads any more, and gives its place to the next', async () => {
  const { transcode, started, converter, all } = studio({ running: 1 });
  const reader = transcode().getReader();
  const first = reader.read();
  const process = await started(1);
  const second = failure(transcode());
  await new Promise((resolve) => setImmediate(resolve));
  expect([all.length, converter.totals().waiting]).toEqual([1, 1]);
  say(process, film(fragment(0, 60)));
  await first;
  await reader.cancel();
  expect(process.calls).toContain('kill');
  await exit(await started(2), { code: 1 });
  expect((await second)?.code).toBe('conversion.refused');
});

it('throws what reading the film throws, and ends the process', async () => {
  const { transcode, started } = studio();
  const made = failure(transcode('gone.mp4'));
  const process = await started(1);
  expect(await made).toMatchObject({
    code: 'conversion.refused',
    message: expect.stringContaining('deleted'),
  });
  expect(process.calls).toContain('kill');
});

it('ends all of them when the server stops', async () => {
  const { transcode, started, converter } = studio({ running: 1 });
  const made = [failure(transcode()), failure(transcode())];
  await started(1);
  converter.close();
  for (const one of made) expect(await one).toMatchObject({ code: 'conversion.unavailable' });
  expect(await failure(transcode())).toMatchObject({ code: 'conversion.unavailable' });
});
