import { describe, expect, it, vi } from 'vitest';
import type { LiveKeyFrame } from '../../core/ports/media.ts';
import type { StillOrder } from '../../core/ports/stills.ts';
import { findPictures, NoPicture } from '../../runtime/media/stills/found-pictures.ts';
import { jpegSize } from '../../runtime/media/stills/jpeg-size.ts';
import { failureKept, ffmpegStills, maxWait } from '../../runtime/media/stills/stills.ts';
import { Feed, play, sendHeaders } from '../hls/feed.ts';
import { patient } from '../kit/patient.ts';
import { scriptedFfmpeg } from '../kit/scripted-ffmpeg.ts';
import { silentLog } from '../kit/silent-log.ts';
import { virtualClock } from '../kit/virtual-clock.ts';
import { jpeg, livePart, orderOf, pictureOf, sourceOf } from './media.ts';

const { found } = await livePart();
const source = sourceOf({ init: found.init.bytes, part: found.part });

/** ms. */
const deadline = 10_000;

/** Stills whose processes the test plays. */
function given(options: { memory?: number; about?: 'missing'; refuses?: 'full' } = {}) {
  const { memory = 64 << 20, about, refuses } = options;
  const clock = virtualClock({ start: Date.UTC(2026, 0, 1) });
  const runner = scriptedFfmpeg({ ...(about && { about }), ...(refuses && { refuses }) });
  const stills = ffmpegStills({ clock, log: silentLog, runner, running: 2, deadline, memory });
  let opened = 0;
  const open = (version?: string) => () => {
    opened += 1;
    return pictureOf(source, version);
  };
  const asked = (order: StillOrder) =>
    stills.make(order).then(
      ({ bytes, width, etag }) => ({ text: Buffer.from(bytes).toString('latin1'), width, etag }),
      (fault) => fault.code as string,
    );
  /** Until the process of this number is there. */
  const process = async (number: number) => {
    await vi.waitUntil(() => runner.started[number], patient);
    return runner.started[number];
  };
  /** It makes a picture. */
  const draws = async (number: number, note = '') => {
    const one = await process(number);
    await one.order.handlers.onOutput?.(Buffer.from(jpeg(640, 360, note), 'latin1'));
    await one.exit({ code: 0 });
  };
  const settle = async () => {
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  return { clock, runner, stills, open, asked, process, draws, settle, opened: () => opened };
}

describe('a still', () => {
  it('is made by one process that reads nothing but its input, is less urgent, and is given the key frame alone', async () => {
    const s = given();
    const made = s.asked(orderOf('a', { open: s.open() }));
    await s.draws(0);
    expect(await made).toMatchObject({ width: 640, text: jpeg(640, 360) });
    const { order, taken, calls } = s.runner.started[0];
    expect(order).toMatchObject({ niceness: 10 });
    expect(order.command.input).toMatchObject({
      format: 'mp4',
      options: { max_pixels: 8192 * 4352, an: true },
    });
    expect(order.command.output).toMatchObject({ target: 'pipe:1', protocol: 'pipe', format: 'image2pipe' });
    expect(calls[0]).toBe('end');
    const fed = taken.reduce((sum, { length }) => sum + length, 0);
    // The init, and a key frame of 4000 bytes with its boxes.
    expect(fed).toBeLessThan(found.init.bytes.size + 4000 + 300);
    expect(s.clock.pending()).toBe(0);
  });

  it('is made once for all who want the same, and kept', async () => {
    const s = given();
    const all = Array.from({ length: 500 }, () => s.asked(orderOf('a', { open: s.open() })));
    await s.draws(0);
    const answers = await Promise.all(all);
    expect(new Set(answers.map((one) => (one as { etag: string }).etag)).size).toBe(1);
    expect(await s.asked(orderOf('a', { open: s.open() }))).toMatchObject({ width: 640 });
    expect([s.runner.started.length, s.opened()]).toEqual([1, 1]);
    expect(s.stills.totals()).toMatchObject({
      kinds: { live: { made: 1, shared: 500, refused: 0, failed: 0 } },
      ...{ running: 0, waiting: 0 },
    });
  });

  it('of something that changes is made anew when it is old enough, and not while it shows the same', async () => {
    const s = given();
    const ask = (version: string) => s.asked(orderOf('a', { open: s.open(version), freshFor: 5000 }));
    const first = ask('1');
    await s.draws(0, 'first');
    await first;
    await s.clock.advance(4999);
    expect(await ask('2')).toMatchObject({ text: jpeg(640, 360, 'first') });
    await s.clock.advance(1);
    // Nothing came meanwhile: it is held.
    expect(await ask('1')).toMatchObject({ text: jpeg(640, 360, 'first') });
    await s.clock.advance(4999);
    expect(await ask('2')).toMatchObject({ text: jpeg(640, 360, 'first') });
    expect(s.runner.started.length).toBe(1);
    await s.clock.advance(1);
    const next = ask('2');
    await s.draws(1, 'second');
    expect(await next).toMatchObject({ text: jpeg(640, 360, 'second') });
  });

  it('waits for its turn: two are made at a time, 32 wait, each for 10 s at most', async () => {
    const s = given();
    const all = Array.from({ length: 40 }, (_, row) => s.asked(orderOf(`k${row}`, { open: s.open() })));
    await s.process(1);
    await s.settle();
    expect(s.runner.started.length).toBe(2);
    for (const row of [34, 35, 39]) expect(await all[row]).toBe('still.busy');
    await s.draws(0);
    await all[0];
    await s.process(2);
    expect(s.runner.started.length).toBe(3);
    await s.clock.advance(maxWait);
    await s.settle();
    expect(await all[20]).toBe('still.busy');
    expect(s.stills.totals().kinds.live.refused).toBe(6 + 31);
    // Those that began were killed by their deadline at the same moment.
    for (const number of [1, 2]) await (await s.process(number)).exit({ code: undefined });
    expect([await all[1], await all[2]]).toEqual(['still.failed', 'still.failed']);
    expect(s.clock.pending()).toBe(0);
  });

  it('of one film are few made at a time: it takes no other its place', async () => {
    const s = given();
    const of = (row: number) => s.asked(orderOf(`k${row}`, { open: s.open(), of: 'film' }));
    const all = Array.from({ length: 100 }, (_, row) => of(row));
    await s.process(1);
    await s.settle();
    for (const row of [4, 50, 99]) expect(await all[row]).toBe('still.busy');
    expect(s.stills.totals().kinds.live.refused).toBe(96);
    const other = s.asked(orderOf('other', { open: s.open() }));
    for (let number = 0; number < 5; number += 1) await s.draws(number);
    expect(await other).toMatchObject({ width: 640 });
    expect(await all[3]).toMatchObject({ width: 640 });
  });

  it('of a segment is made together with others of it that wait, by one process', async () => {
    const s = given();
    const askAt = (key: string, at: number) => {
      const media = pictureOf(sourceOf({ init: found.init.bytes, part: found.part }, { at }));
      return s.asked(orderOf(key, { kind: 'asset', segment: 'film/1', open: () => media }));
    };
    const texts = async (asked: Promise<unknown>[]) =>
      (await Promise.all(asked)).map((one) => (one as { text?: string }).text ?? one);
    const shown = ['a', 'b', 'c'].map((note) => jpeg(640, 360, note));
    // Two ask for the same picture by other times.
    const all = [askAt('k1', 0.11), askAt('k2', 0), askAt('k3', 0.21), askAt('k4', 0.12)];
    const process = await s.process(0);
    await process.order.handlers.onOutput?.(Buffer.from(shown.join(''), 'latin1'));
    await process.exit({ code: 0 });
    expect(await texts(all)).toEqual([shown[1], shown[0], shown[2], shown[1]]);
    expect(await texts([askAt('k3', 0.2)])).toEqual([shown[2]]);
    expect([s.runner.started.length, s.stills.totals().running]).toEqual([1, 0]);

    // What comes is not what was wanted: the first is made alone, and the others have to come again.
    const again = [askAt('k5', 0.1), askAt('k6', 0), askAt('k7', 0.2)];
    await s.draws(1, 'alone');
    await s.draws(2, 'then');
    expect(await texts(again)).toEqual([jpeg(640, 360, 'then'), 'still.busy', 'still.busy']);
    expect([s.runner.started.length, s.stills.totals().running, s.clock.pending()]).toEqual([3, 0, 0]);
  });

  it('that takes too long is killed with its deadline, and not tried again for 5 s', async () => {
    const s = given();
    const late = s.asked(orderOf('a', { open: s.open() }));
    const process = await s.process(0);
    await s.settle();
    await s.clock.advance(deadline);
    expect(process.calls).toContain('kill');
    await process.exit({ code: undefined, signal: 'SIGKILL' });
    expect(await late).toBe('still.failed');
    await s.clock.advance(failureKept - 1);
    expect(await s.asked(orderOf('a', { open: s.open() }))).toBe('still.failed');
    expect(s.runner.started.length).toBe(1);
    await s.clock.advance(1);
    const again = s.asked(orderOf('a', { open: s.open() }));
    await s.draws(1);
    expect(await again).toMatchObject({ width: 640 });
  });

  it('whose reading hangs is at an end with its deadline too', async () => {
    const s = given();
    const hanging = {
      ...source,
      open: (signal: AbortSignal) =>
        new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    };
    const late = s.asked(orderOf('a', { open: () => pictureOf(hanging) }));
    await s.settle();
    await s.clock.advance(deadline);
    expect(await late).toBe('still.failed');
    expect(s.stills.totals().running).toBe(0);
  });

  it('that nobody waits for any more is given up', async () => {
    const s = given();
    const leaving = new AbortController();
    const left = s.asked(orderOf('a', { open: s.open(), signal: leaving.signal }));
    const process = await s.process(0);
    leaving.abort();
    await left;
    await s.settle();
    expect(process.calls).toContain('kill');
    await process.exit({ code: undefined });
    await s.settle();
    expect([s.stills.totals().running, s.clock.pending()]).toEqual([0, 0]);
  });

  it('is none where there is nothing to see, and that is remembered', async () => {
    const s = given();
    const feed = new Feed();
    const { sink } = feed.attach();
    expect(feed.output.keyFrame()).toBeUndefined();
    sendHeaders(sink, { video: new Uint8Array(0) });
    await play(feed, sink, { seconds: 7, video: false });
    // A decoder can begin anywhere in sound.
    const sounds = feed.output.keyFrame() as LiveKeyFrame;
    const sound = { init: sounds.init.bytes, part: sounds.part };
    const open = () => pictureOf(sourceOf(sound));
    for (let times = 0; times < 3; times += 1)
      expect(await s.asked(orderOf('a', { open, kind: 'asset' }))).toBe('still.none');
    const dark = s.asked(orderOf('b', { open: s.open() }));
    await (await s.process(0)).exit({ code: 1 });
    expect(await dark).toBe('still.none');
    expect(await s.asked(orderOf('b', { open: s.open() }))).toBe('still.none');
    expect(s.runner.started.length).toBe(1);
    expect(await s.asked(orderOf('c', { open: () => undefined }))).toBe('still.none');
  });

  it('without ffmpeg is unavailable, and nothing is read', async () => {
    const missing = given({ about: 'missing' });
    expect(await missing.asked(orderOf('a', { open: missing.open() }))).toBe('still.unavailable');
    expect(missing.opened()).toBe(0);
    expect(missing.stills.totals().kinds.live).toEqual({ made: 0, shared: 0, refused: 1, failed: 0 });
    const full = given({ refuses: 'full' });
    expect(await full.asked(orderOf('a', { open: full.open() }))).toBe('still.busy');
    const closed = given();
    closed.stills.close();
    expect(await closed.asked(orderOf('a', { open: closed.open() }))).toBe('still.unavailable');
  });

  it('is had from where it was stored, and stored when it was made; what is stored and none is made again', async () => {
    const s = given();
    const saved: string[] = [];
    const storing = (stored: string | undefined, fails = false) => ({
      load: async () => (stored === undefined ? undefined : new Uint8Array(Buffer.from(stored, 'latin1'))),
      async save(bytes: Uint8Array) {
        if (fails) throw new Error('there is no room');
        saved.push(Buffer.from(bytes).toString('latin1'));
      },
    });
    const known = orderOf('a', { open: s.open(), store: storing(jpeg(100, 50)) });
    expect(await s.asked(known)).toMatchObject({ width: 100 });
    expect(s.runner.started.length).toBe(0);
    for (const [number, stored] of [undefined, '', jpeg(9, 9).slice(0, -1), 'no picture at all'].entries()) {
      const made = s.asked(orderOf(`b${number}`, { open: s.open(), store: storing(stored) }));
      await s.draws(number);
      expect(await made).toMatchObject({ width: 640 });
    }
    expect(saved.length).toBe(4);
    const unsaved = s.asked(orderOf('c', { open: s.open(), store: storing(undefined, true) }));
    await s.draws(4);
    expect(await unsaved).toMatchObject({ width: 640 });
  });

  it('is kept within its memory', async () => {
    const s = given({ memory: 3000 });
    for (let row = 0; row < 10; row += 1) {
      const made = s.asked(orderOf(`k${row}`, { open: s.open() }));
      await s.draws(row, 'x'.repeat(900));
      await made;
      expect(s.stills.totals().bytes).toBeLessThanOrEqual(3000);
    }
    await s.asked(orderOf('k9', { open: s.open() }));
    expect(s.runner.started.length).toBe(10);
  });
});

describe('the picture of a time', () => {
  const { signal } = new AbortController();

  it('is the one that is shown then, with B-frames and at the ends too', async () => {
    // Shown in another order than they come: I P B B P B B.
    const cts = (index: number) => (index % 3 === 1 ? 100 : index % 3 === 0 ? 33 : 0);
    const { feed, found: newest } = await livePart({ seconds: 2.5, cts });
    const [part] = [newest.part];
    const all = await findPictures(sourceOf({ init: newest.init.bytes, part }, { at: 1e9 }), { signal });
    const shown = all.pictures.map(({ pts }) => pts);
    expect(all.wanted).toBe(Math.max(...shown));
    const ticks = all.init.track.timescale;
    const first = Math.min(...shown);
    for (const at of [0, 0.02, 0.05, 0.1, 0.2]) {
      const picked = await findPictures(sourceOf({ init: newest.init.bytes, part }, { at }), { signal });
      const due = Math.max(...shown.filter((pts) => pts <= first + (at + 0.001) * ticks));
      expect([at, picked.wanted]).toEqual([at, due]);
      // Nothing that is decoded behind it is read.
      expect(picked.pictures.at(-1)?.pts).toBe(due);
    }
    feed.output.end();
  });

  it('of damaged media is none, whatever is damaged', async () => {
    const [init, part] = await Promise.all([found.init.bytes.bytes(), found.part.bytes()]);
    let none = 0;
    for (let row = 0; row < 3000; row += 1) {
      const [a, b] = [Buffer.from(init), Buffer.from(part)];
      const damaged = row % 3 === 0 ? a : b.subarray(0, 400);
      damaged[(row * 7919) % damaged.length] ^= 1 << (row % 8);
      const source = sourceOf(
        { init: new Blob([a]), part: new Blob([b]) },
        row % 2 ? {} : { at: (row % 5) / 10 },
      );
      try {
        const { pictures, bytes } = await findPictures(source, { signal });
        for (const { at, size } of pictures) expect(at >= 0 && at + size <= bytes.length).toBe(true);
      } catch (error) {
        expect(error).toBeInstanceOf(NoPicture);
        none += 1;
      }
    }
    expect(none).toBeGreaterThan(100);
  });

  it('is not read for beyond its bounds', async () => {
    const part = Buffer.from(await found.part.bytes());
    const run = part.indexOf('trun');
    const size = 64 << 20;
    // The first picture claims 33 MiB, in data that is long enough for it.
    part.writeUInt32BE(33 << 20, run + 20);
    part.writeUInt32BE(size - part.readUInt32BE(0), part.readUInt32BE(0));
    for (const at of [undefined, 0.2]) {
      const claiming = {
        ...sourceOf({ init: found.init.bytes, part: new Blob([part]) }, at === undefined ? {} : { at }),
        open: () => ({
          size,
          read: async ({ from, to }: { from: number; to: number }) =>
            Buffer.concat([part, Buffer.alloc(to)]).subarray(from, to),
        }),
      };
      await expect(findPictures(claiming, { signal })).rejects.toThrow(/More than \d+ bytes/);
    }
  });
});

describe('the size of a JPEG', () => {
  it('is that of its frame header', () => {
    expect(jpegSize(Buffer.from(jpeg(1280, 433), 'latin1'))).toEqual({ width: 1280, height: 433 });
    for (const text of ['', 'GIF89a', jpeg(0, 5), jpeg(5, 5).slice(0, -1), '\xff\xd8\xff\xd9'])
      expect(jpegSize(Buffer.from(text, 'latin1'))).toBeUndefined();
  });
});
