import { createHash, randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { DiskLook } from '../../runtime/base/disk.ts';
import { diskIntake } from '../../runtime/drivers/intake/intake.ts';
import { type VirtualClock, virtualClock } from '../kit/virtual-clock.ts';

const never = new AbortController().signal;

async function opened(
  options: {
    clock?: VirtualClock;
    reserve?: number;
    look?: DiskLook;
    limits?: Parameters<typeof diskIntake>[0]['limits'];
  } = {},
) {
  const base = await mkdtemp(join(tmpdir(), 'millrace-intake-'));
  const folder = join(base, 'uploads');
  const clock = options.clock ?? virtualClock({ start: 0, idle: async () => {} });
  const intake = diskIntake({
    folder,
    clock,
    reserve: options.reserve ?? 0,
    ...(options.limits && { limits: options.limits }),
    ...(options.look && { look: options.look }),
  });
  await intake.open();
  return {
    ...{ intake, clock, folder },
    files: () => readdir(folder),
    async [Symbol.asyncDispose]() {
      await intake.close();
      expect(clock.pending()).toBe(0);
      await rm(base, { recursive: true });
    },
  };
}

/** Pieces, each when it is asked for. `read`: how many were. */
function source(pieces: readonly Uint8Array[], end: 'close' | 'halt' | Error = 'close') {
  const state = { read: 0, isCancelled: false };
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = pieces[state.read];
        state.read += 1;
        if (piece) return controller.enqueue(new Uint8Array(piece));
        if (end === 'close') return controller.close();
        if (end === 'halt') return new Promise(() => {});
        controller.error(end);
      },
      cancel() {
        state.isCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { stream, state };
}
/** Pieces for each of which `every` ms pass once somebody waits for it; one stretch after the other. */
function trickle(
  clock: VirtualClock,
  ...stretches: readonly { count: number; bytes: number; every: number }[]
) {
  const all = stretches.flatMap(({ count, ...piece }) => Array.from({ length: count }, () => piece));
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = all.shift();
        if (!piece) return controller.close();
        await clock.advance(piece.every);
        controller.enqueue(new Uint8Array(piece.bytes));
      },
    },
    { highWaterMark: 0 },
  );
  return { stream };
}
/** 60 KiB in a minute. */
const least = { rate: 1024, window: 60_000 };
const pieces = (count: number, size = 65_536) => Array.from({ length: count }, () => randomBytes(size));

describe('a file that comes', () => {
  it('is written down as it came, with both hashes', async () => {
    await using i = await opened();
    // Also pieces of a larger buffer, and empty ones.
    const all = [...pieces(20), Buffer.alloc(0), randomBytes(100).subarray(10, 50)].map((one) => one);
    const whole = Buffer.concat(all);
    const counts: number[] = [];
    const file = await i.intake.receive(source(all).stream, {
      ...{ most: 2e6, signal: never, onBytes: (count) => counts.push(count) },
    });
    expect((await readFile(file.path)).equals(whole)).toBe(true);
    expect(file).toMatchObject({
      size: whole.length,
      md5: createHash('md5').update(whole).digest('hex'),
      sha256: createHash('sha256').update(whole).digest('hex'),
    });
    expect([counts.length, counts.at(-1)]).toEqual([21, whole.length]);
    await file.discard();
    await file.discard();
    expect(await i.files()).toEqual([]);
  });

  it('may be empty, or no body at all', async () => {
    await using i = await opened();
    for (const body of [null, source([]).stream]) {
      const file = await i.intake.receive(body, { most: 1, signal: never });
      expect([file.size, file.md5]).toEqual([0, 'd41d8cd98f00b204e9800998ecf8427e']);
      await file.discard();
    }
  });

  it('may come beside others', async () => {
    await using i = await opened({ limits: { perFile: 65_536, inMemory: 65_536 } });
    const all = Array.from({ length: 8 }, () => pieces(16));
    const files = await Promise.all(
      all.map((one) => i.intake.receive(source(one).stream, { most: 2e6, signal: never })),
    );
    for (const [n, { sha256 }] of files.entries())
      expect(sha256).toBe(createHash('sha256').update(Buffer.concat(all[n])).digest('hex'));
  });
});

describe('a sender', () => {
  it.each([
    ['as fast as it must be', { count: 130, bytes: 1024, every: 1000 }],
    ['that brings much now and then', { count: 6, bytes: 29 * 1024, every: 29_000 }],
    ['whose file is too short to say', { count: 2, bytes: 1, every: 29_000 }],
  ])('%s is heard to the end', async (_, given) => {
    await using i = await opened();
    const { stream } = trickle(i.clock, given);
    const file = await i.intake.receive(stream, { most: 1e9, signal: never, least });
    expect([file.size, i.clock.now()]).toEqual([given.count * given.bytes, given.count * given.every]);
    await file.discard();
  });

  it('is looked at again and again: one that was fast may not go on slowly', async () => {
    await using i = await opened();
    const fast = { count: 200, bytes: 65_536, every: 1000 };
    const { stream } = trickle(i.clock, fast, { count: 100, bytes: 512, every: 1000 });
    const running = i.intake.receive(stream, { most: 1e9, signal: never, least });
    await expect(running).rejects.toMatchObject({ code: 'intake.slow' });
    expect(i.clock.now()).toBeLessThanOrEqual(200_000 + 2 * least.window);
  });

  it('is not blamed for what we take our time for', async () => {
    let clock: VirtualClock | undefined;
    const look = async () => {
      await clock?.advance(50_000);
      return { free: 1e9, size: 1e9, device: 1 };
    };
    await using i = await opened({ look, limits: { look: 1 } });
    clock = i.clock;
    const { stream } = trickle(i.clock, { count: 10, bytes: 2, every: 1 });
    const running = i.intake.receive(stream, {
      most: 1e6,
      signal: never,
      least: { rate: 1000, window: 60_000 },
    });
    const file = await running;
    expect(file.size).toBe(20);
    expect(i.clock.now()).toBeGreaterThan(400_000);
    await file.discard();
  });
});

describe('nothing is left of a file', () => {
  it('that is too large, by what it says or by what comes', async () => {
    await using i = await opened();
    const told = source(pieces(1));
    const options = { most: 100_000, signal: never };
    await expect(i.intake.receive(told.stream, { ...options, expected: 100_001 })).rejects.toMatchObject({
      code: 'intake.too_large',
      status: 413,
    });
    expect(told.state.read).toBe(0);
    const long = source(pieces(50));
    await expect(i.intake.receive(long.stream, options)).rejects.toMatchObject({ code: 'intake.too_large' });
    expect(long.state).toEqual({ read: 2, isCancelled: true });
    expect(await i.files()).toEqual([]);
  });

  it('that breaks off', async () => {
    await using i = await opened();
    const { stream } = source(pieces(3), new Error('ECONNRESET'));
    await expect(i.intake.receive(stream, { most: 1e9, signal: never })).rejects.toMatchObject({
      code: 'intake.broken',
    });
    expect(await i.files()).toEqual([]);
  });

  it('that nobody wants any more', async () => {
    await using i = await opened();
    const ending = new AbortController();
    const { stream, state } = source(pieces(3), 'halt');
    const running = i.intake.receive(stream, {
      ...{ most: 1e9, signal: ending.signal },
      onBytes: (count) => count > 100_000 && ending.abort(new Error('enough')),
    });
    await expect(running).rejects.toThrow('enough');
    expect(state.isCancelled).toBe(true);
    expect(await i.files()).toEqual([]);
  });

  it('whose sender is silent', async () => {
    await using i = await opened();
    const begun = Promise.withResolvers<void>();
    const running = i.intake.receive(source(pieces(1), 'halt').stream, {
      ...{ most: 1e9, signal: never, onBytes: () => begun.resolve() },
    });
    running.catch(() => {});
    await begun.promise;
    while ((await i.files()).length === 0) await new Promise((resolve) => setImmediate(resolve));
    await i.clock.advance(29_999);
    expect(await i.files()).toHaveLength(1);
    await i.clock.advance(1);
    await expect(running).rejects.toMatchObject({ code: 'intake.silent', status: 408 });
    expect(await i.files()).toEqual([]);
  });

  it('that comes more slowly than it must', async () => {
    await using i = await opened();
    const { stream } = trickle(i.clock, { count: 100, bytes: 1, every: 29_000 });
    const running = i.intake.receive(stream, { most: 1e9, signal: never, least });
    await expect(running).rejects.toMatchObject({
      ...{ code: 'intake.slow', status: 408 },
      message: expect.stringMatching(/: 3 bytes in 87 s; at least 1024 bytes a second are wanted/),
    });
    expect(i.clock.now()).toBe(87_000);
    expect(await i.files()).toEqual([]);
  });

  it('for which there is no room', async () => {
    await using none = await opened({ reserve: 2 ** 60 });
    await expect(
      none.intake.receive(source(pieces(1)).stream, { most: 1e9, signal: never }),
    ).rejects.toMatchObject({
      ...{ code: 'intake.full', status: 507 },
    });
    await using i = await opened();
    const huge = { most: 2 ** 60, expected: 2 ** 55, signal: never };
    await expect(i.intake.receive(source(pieces(1)).stream, huge)).rejects.toMatchObject({
      code: 'intake.full',
    });
    // What the one is promised is not there for another.
    expect([await none.files(), await i.files()]).toEqual([[], []]);
  });

  it('for which there is no room: none of it is read', async () => {
    await using i = await opened({ look: async () => ({ free: 1e6, size: 1e9, device: 1 }) });
    const { stream, state } = source(pieces(1));
    const running = i.intake.receive(stream, { most: 1e9, expected: 1_000_001, signal: never });
    await expect(running).rejects.toMatchObject({ code: 'intake.full', status: 507 });
    expect(state).toEqual({ read: 0, isCancelled: true });
    await i.intake.checkRoom(1_000_000);
    await expect(i.intake.checkRoom(1_000_001)).rejects.toMatchObject({ code: 'intake.full' });
  });

  it('for which there is room to the last byte is taken, wherever it was looked at', async () => {
    const size = 4 * 65_536;
    await using i = await opened({
      limits: { look: 2 * 65_536 },
      async look(folder) {
        const sizes = (await readdir(folder)).map((name) => statSync(join(folder, name)).size);
        return { free: size - sizes.reduce((sum, one) => sum + one, 0), size, device: 1 };
      },
    });
    const options = { most: 1e9, expected: size, signal: never };
    const taken = await i.intake.receive(source(pieces(4)).stream, options);
    expect(taken.size).toBe(size);
    await taken.discard();
  });

  it('while another has what room there is, which is there again when that has ended', async () => {
    await using i = await opened({ look: async () => ({ free: 1e6, size: 1e9, device: 1 }) });
    const ending = new AbortController();
    const first = i.intake.receive(source(pieces(1), 'halt').stream, {
      ...{ most: 1e9, expected: 900_000, signal: ending.signal },
    });
    first.catch(() => {});
    const second = { most: 1e9, expected: 200_000, signal: never };
    await expect(i.intake.receive(source(pieces(1)).stream, second)).rejects.toMatchObject({
      code: 'intake.full',
    });
    ending.abort(new Error('enough'));
    await expect(first).rejects.toThrow('enough');
    const taken = await i.intake.receive(source(pieces(1)).stream, second);
    await taken.discard();
  });

  it('of unknown length on a disk that fills up meanwhile', async () => {
    let free = 1e9;
    await using i = await opened({
      ...{ limits: { look: 200_000 }, reserve: 1e6 },
      look: async () => ({ free, size: 1e9, device: 1 }),
    });
    const { stream, state } = source(pieces(100));
    const onBytes = (count: number) => {
      if (count > 500_000) free = 1e6 + 100_000;
    };
    const running = i.intake.receive(stream, { most: 1e9, signal: never, onBytes });
    await expect(running).rejects.toMatchObject({ code: 'intake.full' });
    // At the next look, and no later.
    expect(state.read).toBeLessThanOrEqual(11);
    expect(await i.files()).toEqual([]);
    // It was promised 200,000 bytes at a time, no more.
    free = 1e6 + 200_000;
    const whole = await i.intake.receive(source(pieces(3)).stream, { most: 1e9, signal: never });
    await whole.discard();
  });

  it('that is longer than it was said to be has room for what is more of it', async () => {
    let free = 1e6;
    await using i = await opened({
      limits: { look: 400_000 },
      look: async () => ({ free, size: 1e9, device: 1 }),
    });
    const onBytes = (count: number) => {
      if (count > 100_000) free = 300_000;
    };
    const running = i.intake.receive(source(pieces(9)).stream, {
      ...{ most: 1e9, expected: 100_000, signal: never, onBytes },
    });
    await expect(running).rejects.toMatchObject({ code: 'intake.full' });
  });

  it('that runs when the server ends; the next one is refused', async () => {
    const i = await opened();
    const running = i.intake.receive(source(pieces(3), 'halt').stream, { most: 1e9, signal: never });
    running.catch(() => {});
    await i.intake.close();
    await expect(running).rejects.toMatchObject({ code: 'intake.unavailable' });
    expect(await i.files()).toEqual([]);
    await expect(i.intake.receive(null, { most: 1, signal: never })).rejects.toMatchObject({
      code: 'intake.unavailable',
    });
    await i[Symbol.asyncDispose]();
  });

  it('that a former process left; what is not ours stays', async () => {
    await using i = await opened();
    await writeFile(join(i.folder, 'x.upload'), 'half');
    await writeFile(join(i.folder, 'notes.txt'), 'mine');
    expect(await i.intake.open()).toEqual({ count: 1, bytes: 4 });
    expect(await i.files()).toEqual(['notes.txt']);
  });

  it('that cannot be written', async () => {
    const i = await opened();
    await rm(i.folder, { recursive: true });
    await expect(
      i.intake.receive(source(pieces(1)).stream, { most: 1e9, signal: never }),
    ).rejects.toMatchObject({
      code: 'intake.unavailable',
      // Whoever sends it is a stranger: no path of this machine.
      message: 'The file could not be written down: the disk says ENOENT.',
    });
    await i[Symbol.asyncDispose]();
  });
});

it('gives small pieces to the thread that writes together: a byte is no message', async () => {
  await using i = await opened();
  using said = vi.spyOn(Worker.prototype, 'postMessage');
  const bytes = randomBytes(150_000);
  const { stream } = source(Array.from(bytes, (byte) => Uint8Array.of(byte)));
  const file = await i.intake.receive(stream, { most: 1e9, signal: never });
  expect(await readFile(file.path)).toEqual(bytes);
  expect(said.mock.calls.length).toBeLessThan(100);
  await file.discard();
});

it('keeps the order of pieces of all sizes', async () => {
  await using i = await opened();
  const all = [10_000, 40_000, 1, 65_536, 30_000, 30_000, 30_000, 50_000, 7].map((size) => randomBytes(size));
  const file = await i.intake.receive(source(all).stream, { most: 1e9, signal: never });
  expect((await readFile(file.path)).equals(Buffer.concat(all))).toBe(true);
  await file.discard();
});

it('notices a sender that is silent, also when the clock is set back meanwhile', async () => {
  let back = 0;
  const virtual = virtualClock({ start: 7_200_000, idle: async () => {} });
  const clock = {
    now: () => virtual.now() - back,
    at: (due: number, action: () => void) => virtual.at(due + back, action),
  };
  await using i = await opened({
    clock: Object.assign(clock, { advance: virtual.advance, pending: virtual.pending }),
  });
  const { stream, state } = source(pieces(1), 'halt');
  const running = i.intake.receive(stream, { most: 1e9, signal: never });
  const ended = expect(running).rejects.toMatchObject({ code: 'intake.silent' });
  while (state.read < 2) await new Promise((resolve) => setImmediate(resolve));
  back = 3_600_000;
  await virtual.advance(60_000);
  expect(await i.files()).toEqual([]);
  await ended;
});

it('reads so many pieces at a time: others have their turn between', async () => {
  await using i = await opened({ limits: { turn: 1000 } });
  const { stream, state } = source(pieces(20_000, 1));
  let readInTurn: number | undefined;
  const onBytes = (count: number) => {
    if (count !== 1) return;
    setImmediate(() => {
      readInTurn = state.read;
    });
  };
  const file = await i.intake.receive(stream, { most: 1e9, signal: never, onBytes });
  expect(file.size).toBe(20_000);
  expect(readInTurn).toBeLessThan(1100);
  await file.discard();
});

it('reads no faster than it writes: so much of a file lies in memory, and no more', async () => {
  await using i = await opened({ limits: { perFile: 3 * 65_536 } });
  const { stream, state } = source(pieces(40));
  const running = i.intake.receive(stream, { most: 1e9, signal: never });
  // Before the thread has said anything.
  for (let turn = 0; turn < 200; turn += 1) await Promise.resolve();
  expect(state.read).toBeLessThanOrEqual(4);
  const file = await running;
  expect([file.size, state.read]).toEqual([40 * 65_536, 41]);
  await file.discard();
});
