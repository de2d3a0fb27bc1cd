import { afterEach, describe, expect, it } from 'vitest';
import { jsonLog } from '../../core/base/log.ts';
import {
  LadderBroken,
  LadderFull,
  LadderLost,
  type LadderMedia,
} from '../../runtime/media/renditions/ladder.ts';
import { endAll, given, init, ladderPixels, pictures } from './transcoder-kit.ts';

afterEach(endAll);

const sound: LadderMedia = { bytes: Buffer.from('sound'), pictures: undefined };

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
