import { afterEach, describe, expect, it } from 'vitest';
import { jsonLog } from '../../core/base/log.ts';
import {
  LadderBroken,
  LadderFull,
  LadderLost,
  type LadderMedia,
} from '../../runtime/media/renditions/ladder.ts';
import { type NodeTranscoderOptions, nodeTranscoder } from '../../runtime/media/renditions/transcoder.ts';
import { type ScriptedProcess, scriptedFfmpeg } from '../kit/scripted-ffmpeg.ts';
import { profile480, type ScriptedLadder, scriptedLadder, video720 } from '../kit/scripted-ladder.ts';
import { type VirtualClock, virtualClock } from '../kit/virtual-clock.ts';

const settings = {
  ...{ encoder: 'libx264', preset: 'veryfast', device: undefined, threads: 2, niceness: 5 },
  ...{ stall: 6000, behind: 4000, patience: 5000, retryMost: 30_000 },
};
/** What each process counts as. */
const base = 1_000_000;
/** Pixels a second of both renditions of a 720p30 source, with those that are decoded. */
const ladderPixels = (854 * 480 + 426 * 240 + (1280 * 720) / 4) * 30 + base;
const init: LadderMedia = { bytes: Buffer.from('init'), pictures: undefined };
const sound: LadderMedia = { bytes: Buffer.from('sound'), pictures: undefined };
/** A second of `fps` pictures that begins `second` seconds in. */
const pictures = (second: number, fps = 30): LadderMedia => ({
  bytes: Buffer.from('pictures'),
  pictures: { count: fps, start: second, end: second + 1 },
});

const begun: { clock: VirtualClock; close(): void }[] = [];
afterEach(async () => {
  for (const { clock, close } of begun.splice(0)) {
    close();
    await clock.advance(0);
    expect(clock.pending(), 'timers that were left').toBe(0);
  }
});

function given(options: Partial<NodeTranscoderOptions> = {}) {
  const clock = virtualClock({ start: 0 });
  const lines: string[] = [];
  const script: Parameters<typeof scriptedFfmpeg>[0] = { obeys: true };
  const ffmpeg = scriptedFfmpeg(script);
  const transcoder = nodeTranscoder({
    ...{ clock, runner: ffmpeg, random: () => 0, settings, capacity: 10 * ladderPixels, processes: 50 },
    log: jsonLog({ level: 'info', now: clock.now, write: (line) => lines.push(JSON.parse(line).message) }),
    ...options,
  });
  begun.push({ clock, close: transcoder.close });
  const begin = async (ladder: ScriptedLadder = scriptedLadder()) => {
    const stop = transcoder.begin(ladder);
    await clock.advance(0);
    return { ladder, stop };
  };
  const reading = () => transcoder.readings()[0];
  const last = () => ffmpeg.started.at(-1) as ScriptedProcess;
  return { clock, lines, script, ffmpeg, transcoder, begin, reading, last };
}

const text = (pieces: readonly Uint8Array[]) => Buffer.concat(pieces).toString('latin1');

describe('the renditions of a broadcast', () => {
  it('are made by one process, which reads what is broadcast and is read', async () => {
    const { clock, ffmpeg, begin, reading, last, transcoder } = given();
    const { ladder } = await begin();
    expect(ffmpeg.started).toHaveLength(1);
    expect(last().order.niceness).toBe(5);
    expect(reading()).toMatchObject({ playbackId: 'ladder', state: 'starting', lag: 0 });
    ladder.runs[0].give(init);
    ladder.runs[0].give(pictures(0));
    await clock.advance(0);
    expect(Buffer.concat(last().taken)).toEqual(Buffer.concat([init.bytes, pictures(0).bytes]));
    last().say('1234');
    ladder.isOffered = true;
    await clock.advance(250);
    expect(reading()).toEqual({
      ...{ playbackId: 'ladder', state: 'running', lag: 0 },
      renditions: [
        { name: '480p', isListed: true },
        { name: '240p', isListed: true },
      ],
    });
    expect(transcoder.totals()).toEqual({
      ...{ ladders: 1, pixelRate: ladderPixels, capacity: 10 * ladderPixels, pictures: 4, restarts: 0 },
      troubles: {},
    });
  });

  it('read no faster than they are encoded, and lose nothing', async () => {
    const { clock, begin, last } = given();
    const { ladder } = await begin();
    last().room = 5;
    ladder.runs[0].give({ bytes: Buffer.from('abcdefgh'), pictures: undefined });
    ladder.runs[0].give({ bytes: Buffer.from('ijkl'), pictures: undefined });
    await clock.advance(0);
    expect(text(last().taken)).toBe('abcde');
    last().room = 4;
    last().drain();
    await clock.advance(0);
    expect(text(last().taken)).toBe('abcdefghi');
    last().room = 100;
    last().drain();
    await clock.advance(0);
    expect(text(last().taken)).toBe('abcdefghijkl');
  });

  it('go on with another process when the source begins anew, without a word', async () => {
    const { clock, ffmpeg, lines, begin, reading } = given();
    const { ladder } = await begin();
    await clock.advance(31_000);
    ladder.runs[0].over();
    await clock.advance(0);
    expect(ladder.runs.map(({ ends }) => ends)).toEqual([[true], []]);
    expect(ffmpeg.started.map(({ calls }) => calls)).toEqual([['end'], []]);
    expect(ladder.suspended).toBe(0);
    expect([reading().trouble, lines]).toEqual([undefined, []]);
  });

  it('get no process each time from a source that begins anew again and again', async () => {
    const { clock, ffmpeg, begin } = given();
    const { ladder } = await begin();
    for (let seconds = 0; seconds < 60; seconds += 1) {
      ladder.runs.at(-1)?.over();
      await clock.advance(1000);
    }
    expect(ffmpeg.started.length).toBeLessThan(12);
    expect(ladder.suspended).toBe(0);
  });

  it('end with the playlist', async () => {
    const { clock, begin, transcoder } = given();
    const { ladder } = await begin();
    ladder.source = undefined;
    ladder.runs[0].over();
    await clock.advance(1000);
    expect(transcoder.readings()).toEqual([]);
    expect(transcoder.totals()).toMatchObject({ ladders: 0, pixelRate: 0 });
  });

  it('end when nobody wants them, and ask nothing more of the ladder', async () => {
    const { clock, begin, last, transcoder } = given();
    const { ladder, stop } = await begin();
    stop();
    expect(transcoder.readings()).toEqual([]);
    await clock.advance(60_000);
    expect(last().calls).toEqual(['kill']);
    expect(ladder.runs.map(({ ends }) => ends)).toEqual([[false]]);
    expect(ladder.suspended).toBe(0);
    expect(transcoder.totals()).toMatchObject({ ladders: 0, pixelRate: 0, restarts: 0, troubles: {} });
  });
});

describe('a process that breaks', () => {
  it('is followed by the next within a quarter of a second, and later ones wait longer', async () => {
    const { clock, ffmpeg, lines, begin, reading, last, transcoder } = given();
    const { ladder } = await begin();
    const waits: number[] = [];
    for (let n = 0; n < 9; n += 1) {
      await last().exit({ code: undefined, signal: 'SIGKILL' });
      await clock.advance(0);
      const count = ffmpeg.started.length;
      const { state, trouble, retryAt } = reading();
      expect([state, trouble?.reason]).toEqual(['waiting', 'broken']);
      waits.push((retryAt as number) - clock.now());
      await clock.advance(waits[n] - 1);
      expect(ffmpeg.started).toHaveLength(count);
      await clock.advance(1);
      expect(ffmpeg.started).toHaveLength(count + 1);
    }
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    expect(ladder.suspended).toBe(9);
    expect(ladder.runs.slice(0, -1).every(({ ends }) => ends.join() === 'false')).toBe(true);
    // Of the same again and again one line is enough.
    expect(lines).toEqual(['a broadcast has no renditions for now']);
    expect(transcoder.totals()).toMatchObject({ restarts: 9, troubles: { broken: 9 } });
  });

  it('is tried at once again after it ran for long, and is forgiven when viewers have them again', async () => {
    const { clock, lines, begin, reading, last } = given();
    const { ladder } = await begin();
    for (let n = 0; n < 5; n += 1) {
      await last().exit();
      await clock.advance(30_000);
    }
    ladder.runs.at(-1)?.give(pictures(0));
    last().say('1');
    await clock.advance(2000);
    expect(reading()).toMatchObject({ state: 'running', trouble: { reason: 'broken' } });
    ladder.isOffered = true;
    await clock.advance(3000);
    expect(reading().trouble?.reason).toBe('broken');
    await clock.advance(250);
    expect(reading().trouble).toBeUndefined();
    await clock.advance(30_000);
    expect(lines).toEqual(['a broadcast has no renditions for now', 'a broadcast has its renditions again']);
    await last().exit();
    await clock.advance(0);
    expect((reading().retryAt as number) - clock.now()).toBe(250);
  });

  it.each([
    [new LadderBroken('no moof'), 'broken'],
    [new LadderFull(), 'memory'],
    [new Error('a bug'), 'broken'],
  ])('is killed when what it writes is of no use: %s', async (error, reason) => {
    const { clock, begin, reading, last } = given();
    const { ladder } = await begin();
    ladder.runs[0].refuses = error;
    const first = last();
    first.say('x');
    await clock.advance(0);
    expect(first.calls).toEqual(['kill']);
    expect(ladder.runs[0].ends).toEqual([false]);
    expect(reading().trouble?.reason).toBe(reason);
  });

  it.each([
    ["Unknown encoder 'h264_foo'", 'encoder'],
    ['Error while opening encoder for output stream #0:0 - maybe incorrect parameters', 'encoder'],
    ['[AVHWDeviceContext] Device creation failed: -22.', 'encoder'],
    ['Decoder (codec vvc) not found for input stream #0:0', 'source'],
    ['pipe:0: Invalid data found when processing input rtmp://a.example/secret', 'broken'],
  ])('says why in our words: %s', async (errors, reason) => {
    const { clock, begin, reading, last } = given();
    await begin();
    await last().exit({ errors });
    await clock.advance(0);
    expect(reading().trouble?.reason).toBe(reason);
    expect(reading().trouble?.message).not.toContain('secret');
  });
});

it('says in the log how ffmpeg ended, and what it said', async () => {
  const told: Record<string, unknown>[] = [];
  const log = jsonLog({ level: 'info', now: () => 0, write: (line) => told.push(JSON.parse(line)) });
  const { clock, begin, last } = given({ log });
  await begin();
  await last().exit({ code: 1, errors: 'x264 [error]: malloc failed' });
  await clock.advance(0);
  expect(told).toMatchObject([
    { level: 'warn', reason: 'broken', ffmpeg: { code: 1, errors: 'x264 [error]: malloc failed' } },
  ]);
});

describe('a process that hangs', () => {
  it('is killed when it gives nothing for what it took', async () => {
    const { clock, begin, reading, last } = given();
    const { ladder } = await begin();
    await clock.advance(60_000);
    expect(last().calls, 'nothing was asked of it').toEqual([]);
    const hung = last();
    ladder.runs[0].give(init);
    ladder.runs[0].give(pictures(0));
    await clock.advance(5750);
    expect(hung.calls).toEqual([]);
    await clock.advance(1000);
    expect(hung.calls).toEqual(['kill']);
    expect(reading().trouble).toEqual({ reason: 'stalled', message: 'ffmpeg gave no picture for 6 s.' });
    expect(ladder.runs[0].ends).toEqual([false]);
  });

  it('is killed when it takes nothing', async () => {
    const { clock, begin, last } = given();
    const { ladder } = await begin();
    const hung = last();
    hung.room = init.bytes.length;
    ladder.runs[0].give(init);
    ladder.runs[0].give(pictures(0));
    await clock.advance(7000);
    expect(hung.calls).toEqual(['kill']);
  });

  it('is not one that gives what it can: pictures for pictures, and none for sound', async () => {
    const { clock, begin, last } = given();
    const { ladder } = await begin();
    ladder.runs[0].give(init);
    for (let second = 0; second < 20; second += 1) {
      ladder.runs[0].give(pictures(second));
      await clock.advance(1000);
      last().say('x');
    }
    await clock.advance(250);
    for (let second = 0; second < 20; second += 1) {
      ladder.runs[0].give(sound);
      await clock.advance(1000);
    }
    expect(last().calls).toEqual([]);
  });
});

describe('a process that is too slow', () => {
  it('is behind, is ended when it stays so, and gives the machine a rest', async () => {
    const { clock, ffmpeg, begin, reading, last, transcoder } = given();
    const { ladder } = await begin();
    const slow = last();
    slow.say('x');
    ladder.lag = 5000;
    await clock.advance(4000);
    expect(reading()).toMatchObject({ state: 'behind', lag: 5000 });
    expect([ladder.suspended, slow.calls]).toEqual([0, []]);
    await clock.advance(2000);
    expect(slow.calls).toEqual(['kill']);
    expect(reading()).toMatchObject({ state: 'waiting', trouble: { reason: 'slow' } });
    expect(ladder.suspended).toBe(1);
    // Others may have its place meanwhile.
    expect(transcoder.totals().pixelRate).toBe(0);
    await clock.advance(14_000);
    expect(ffmpeg.started).toHaveLength(1);
    await clock.advance(1000);
    expect(ffmpeg.started).toHaveLength(2);
  });

  it('is given the time to catch up as long as it does', async () => {
    const { clock, begin, reading, last } = given();
    const { ladder } = await begin();
    last().say('x');
    for (ladder.lag = 12_000; ladder.lag > 4000; ladder.lag -= 1000) await clock.advance(4500);
    await clock.advance(500);
    expect([reading().state, last().calls]).toEqual(['running', []]);
  });

  it('is ended when the window does not hold what comes next', async () => {
    const { clock, begin, reading, last } = given();
    const { ladder } = await begin();
    const slow = last();
    ladder.runs[0].fail(new LadderLost());
    await clock.advance(0);
    expect(slow.calls).toEqual(['kill']);
    expect(reading().trouble?.reason).toBe('slow');
  });
});

describe('what is refused', () => {
  it('do not wake each other for ever when there is no process for either', async () => {
    let asked = 0;
    const start = () => {
      asked += 1;
      // Without an end, nothing else would have its turn, this test included.
      return asked > 100
        ? new Promise<never>(() => {})
        : Promise.resolve({ ok: false, reason: 'full' } as const);
    };
    const { clock, begin, transcoder } = given({ runner: { start } });
    for (const id of ['one', 'other', 'third']) await begin(scriptedLadder({ id }));
    expect(asked).toBe(3);
    await clock.advance(4999);
    expect(asked).toBe(3);
    expect(transcoder.totals()).toMatchObject({ ladders: 0, pixelRate: 0 });
    await clock.advance(1);
    expect(asked).toBe(6);
  });

  it('waits for capacity, and begins soon after there is some', async () => {
    const { clock, ffmpeg, begin, transcoder } = given({ capacity: 1.5 * ladderPixels });
    const { stop } = await begin(scriptedLadder({ id: 'a' }));
    const { ladder } = await begin(scriptedLadder({ id: 'b' }));
    expect(ffmpeg.started).toHaveLength(1);
    const refused = transcoder.readings()[1];
    expect(refused).toMatchObject({ playbackId: 'b', state: 'refused' });
    expect(refused.trouble).toEqual({
      reason: 'capacity',
      message:
        'They take 23.3 megapixels a second (480p 12.3, 240p 3.1), and fewer of the 34.9 that this server encodes (renditions.capacity) are free. They start when others end.',
    });
    expect(ladder.suspended).toBe(1);
    await clock.advance(5000);
    expect(ffmpeg.started).toHaveLength(1);
    stop();
    await clock.advance(5000);
    expect(ffmpeg.started).toHaveLength(2);
    expect(transcoder.readings()).toMatchObject([{ playbackId: 'b', state: 'starting' }]);
    expect(transcoder.totals().pixelRate).toBe(ladderPixels);
  });

  it('counts what is decoded too, however little is made of it', async () => {
    const { begin, reading, transcoder } = given({ capacity: 96_000_000 });
    const tiny = { ...profile480, width: 128, height: 128 };
    const { stop } = await begin(scriptedLadder({ profiles: [tiny] }));
    expect(transcoder.totals().pixelRate).toBe((128 * 72 + (1280 * 720) / 4) * 30 + base);
    stop();
    const source = { ...video720, width: 7680, height: 4320 };
    await begin(scriptedLadder({ source, profiles: [tiny] }));
    expect(reading()).toMatchObject({ state: 'refused', trouble: { reason: 'capacity' } });
    expect(reading().trouble?.message).toContain('They take 250.1 megapixels a second (480p 0.3)');
  });

  it('leaves a quarter of the processes to others', async () => {
    const { clock, ffmpeg, begin, transcoder } = given({ processes: 3 });
    const { stop } = await begin(scriptedLadder({ id: 'a' }));
    await begin(scriptedLadder({ id: 'b' }));
    await begin(scriptedLadder({ id: 'c' }));
    expect(ffmpeg.started).toHaveLength(2);
    expect(transcoder.readings()[2]).toMatchObject({
      state: 'refused',
      trouble: {
        reason: 'processes',
        message:
          '2 ffmpeg processes make renditions already, three quarters of ffmpeg.processes. They start when others end.',
      },
    });
    stop();
    await clock.advance(5000);
    expect(ffmpeg.started).toHaveLength(3);
    expect(transcoder.totals()).toMatchObject({ ladders: 2, pixelRate: 2 * ladderPixels });
  });

  it('are given the only process there is', async () => {
    const { begin, ffmpeg } = given({ processes: 1 });
    await begin();
    expect(ffmpeg.started).toHaveLength(1);
  });

  it('is what takes more than all there is, however long it waits', async () => {
    const { clock, ffmpeg, begin, reading } = given({ capacity: ladderPixels - 1 });
    await begin();
    await clock.advance(60_000);
    expect(ffmpeg.started).toHaveLength(0);
    expect(reading().trouble?.message).toBe(
      'They take 23.3 megapixels a second (480p 12.3, 240p 3.1); this server encodes 23.3 (renditions.capacity). Without 240p the others fit.',
    );
  });

  it('is told which profiles are too many, the first of them kept', async () => {
    const { begin, reading } = given({ capacity: ladderPixels - 854 * 480 * 30 });
    await begin();
    expect(reading().trouble?.message).toMatch(
      / encodes 11 \(renditions\.capacity\)\. Without 480p the others fit\.$/,
    );
  });

  it('is told when not even one of them fits', async () => {
    const { begin, reading } = given({ capacity: 1_000_000 });
    await begin();
    expect(reading().trouble?.message).toMatch(/ None of them fits even alone\.$/);
  });

  it('has what one leaves who waits for media, after a while', async () => {
    const { clock, begin, transcoder } = given({ capacity: ladderPixels });
    const { ladder } = await begin(scriptedLadder({ id: 'a' }));
    await begin(scriptedLadder({ id: 'b' }));
    await clock.advance(31_000);
    ladder.isQuiet = true;
    ladder.runs[0].over();
    await clock.advance(4000);
    expect(transcoder.readings().map(({ state }) => state)).toEqual(['starting', 'refused']);
    await clock.advance(6500);
    expect(transcoder.totals()).toMatchObject({ ladders: 1, pixelRate: ladderPixels });
    expect(transcoder.readings().map(({ state }) => state)).toEqual(['starting', 'starting']);
  });

  it('keeps its place through a short restart alone', async () => {
    const { clock, begin, last, transcoder } = given({ capacity: ladderPixels });
    await begin(scriptedLadder({ id: 'a' }));
    const first = last();
    await begin(scriptedLadder({ id: 'b' }));
    await first.exit();
    await clock.advance(0);
    expect(transcoder.readings().map(({ state }) => state)).toEqual(['waiting', 'refused']);
    expect(transcoder.totals().pixelRate).toBe(ladderPixels);
    for (let n = 0; n < 6; n += 1) {
      await last().exit();
      await clock.advance(5000);
    }
    // By then it waits for longer than it may keep its place.
    expect(transcoder.readings().map(({ state }) => state)).toEqual(['waiting', 'starting']);
  });

  it.each([
    [{ width: 16_384, height: 16_384 }, 'Its picture of 16384 × 16384 is larger than what is transcoded.'],
    [{ width: 8200, height: 100 }, 'Its picture of 8200 × 100 is larger than what is transcoded.'],
    [{ frameRate: 10_000 }, 'It has 10000 pictures a second; at most 150 are transcoded.'],
  ])('is a source beyond all bounds, by its own word: %j', async (wrong, message) => {
    const { clock, ffmpeg, begin, reading } = given();
    const { ladder } = await begin(scriptedLadder({ source: { ...video720, ...wrong } }));
    expect(ffmpeg.started).toHaveLength(0);
    expect(reading()).toMatchObject({ state: 'refused', trouble: { reason: 'source', message } });
    ladder.source = video720;
    await clock.advance(10_000);
    expect(ffmpeg.started).toHaveLength(1);
    expect(reading().state).toBe('starting');
  });

  it.each([30, undefined])('is a source with more pictures than it said (%s)', async (frameRate) => {
    const { clock, begin, reading, last } = given();
    const { ladder } = await begin(scriptedLadder({ source: { ...video720, frameRate } }));
    const first = last();
    ladder.runs[0].give(init);
    ladder.runs[0].give(pictures(0, 10_000));
    await clock.advance(250);
    expect(first.calls).toEqual(['kill']);
    expect(reading().trouble?.message).toBe('It has 10000 pictures a second; at most 150 are transcoded.');
  });

  it('takes as much as it has, whatever it said', async () => {
    const { clock, begin, last, transcoder } = given({ capacity: 3 * ladderPixels });
    const { ladder } = await begin(scriptedLadder({ source: { ...video720, frameRate: 5 } }));
    expect(transcoder.totals().pixelRate).toBeCloseTo((ladderPixels - base) / 6 + base, 0);
    ladder.runs[0].give(init);
    ladder.runs[0].give(pictures(0, 60));
    await clock.advance(250);
    expect(transcoder.totals().pixelRate).toBeCloseTo(2 * ladderPixels - base, 0);
    ladder.runs[0].give(pictures(1, 120));
    const first = last();
    await clock.advance(250);
    expect(first.calls).toEqual(['kill']);
    expect(transcoder.readings()[0]).toMatchObject({ state: 'refused', trouble: { reason: 'capacity' } });
  });

  it('is everything while there is no ffmpeg, without a line for each; one that is installed later is used', async () => {
    const { clock, script, ffmpeg, lines, begin, reading } = given();
    script.refuses = 'missing';
    const { ladder } = await begin();
    await clock.advance(60_000);
    expect(reading()).toMatchObject({ state: 'refused', trouble: { reason: 'missing' } });
    expect(lines).toEqual([]);
    delete script.refuses;
    await clock.advance(10_000);
    expect(ffmpeg.started).toHaveLength(1);
    ladder.runs.at(-1)?.give(pictures(0));
    ffmpeg.started[0].say('x');
    ladder.isOffered = true;
    await clock.advance(3500);
    expect(reading()).toMatchObject({ state: 'running' });
    expect(reading().trouble).toBeUndefined();
  });

  it.each([
    ['full', 'refused', 'processes'],
    ['failed', 'waiting', 'broken'],
  ] as const)('is tried again: %s', async (refuses, state, reason) => {
    const { clock, script, ffmpeg, begin, reading } = given();
    script.refuses = refuses;
    await begin();
    expect(reading()).toMatchObject({ state, trouble: { reason } });
    delete script.refuses;
    await clock.advance(10_000);
    expect(ffmpeg.started).toHaveLength(1);
  });
});
