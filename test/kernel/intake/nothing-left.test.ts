import { statSync } from 'node:fs';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { least, never, opened, pieces, source, trickle } from './kit.ts';

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
