import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describe, expect, it, vi } from 'vitest';
import { type VirtualClock, virtualClock } from '../../kit/virtual-clock.ts';
import { least, never, opened, pieces, source, trickle } from './kit.ts';

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
