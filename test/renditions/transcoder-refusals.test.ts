import { afterEach, describe, expect, it } from 'vitest';
import { profile480, scriptedLadder, video720 } from '../kit/scripted-ladder.ts';
import { base, endAll, given, init, ladderPixels, pictures } from './transcoder-kit.ts';

afterEach(endAll);

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
