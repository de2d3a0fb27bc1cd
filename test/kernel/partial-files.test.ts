import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { PartialFile } from '../../core/ports/intake.ts';
import { diskIntake } from '../../runtime/drivers/intake/intake.ts';
import { virtualClock } from '../kit/virtual-clock.ts';

const never = new AbortController().signal;
type Options = Parameters<typeof diskIntake>[0];

async function opened(options: Partial<Pick<Options, 'reserve' | 'limits' | 'look' | 'store'>> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-partial-'));
  const clock = virtualClock({ start: 1000, idle: async () => {} });
  const { reserve = 0, ...others } = options;
  const start = async () => {
    const intake = diskIntake({ folder, clock, reserve, ...others });
    await intake.open();
    return intake;
  };
  let intake = await start();
  const all = [intake];
  return {
    ...{ clock, folder },
    get intake() {
      return intake;
    },
    get partial() {
      return intake.partial;
    },
    files: async () => (await readdir(folder)).sort(),
    /** As after `kill -9`: another process finds what lies there. What the former one does is its own affair. */
    async restart() {
      intake = await start();
      all.push(intake);
    },
    async [Symbol.asyncDispose]() {
      for (const one of all) await one.close();
      expect(clock.pending()).toBe(0);
      await rm(folder, { recursive: true });
    },
  };
}

/** Pieces, and then: its end, nothing any more, or a broken connection. */
function body(bytes: Uint8Array, { end = 'close', piece = 10_000 }: { end?: End; piece?: number } = {}) {
  let at = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (at < bytes.length) {
          controller.enqueue(new Uint8Array(bytes.subarray(at, at + piece)));
          at += piece;
          return;
        }
        if (end === 'close') return controller.close();
        if (end === 'halt') return new Promise(() => {});
        controller.error(new Error('ECONNRESET'));
      },
    },
    { highWaterMark: 0 },
  );
}
type End = 'close' | 'halt' | 'break';

const begun = { id: 'one', expires: 2000, note: { asset: 'a' } };
const hashesOf = (bytes: Uint8Array) => ({
  md5: createHash('md5').update(bytes).digest('hex'),
  sha256: createHash('sha256').update(bytes).digest('hex'),
});
const append = (file: PartialFile | undefined, given: ReadableStream<Uint8Array> | null) => {
  if (!file) throw new Error('it is not there');
  return file.append(given, { signal: never });
};
/** The offset that it stops to grow at: what a halted body has given is written. */
async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve));
}
const markOf = async (folder: string) =>
  Number((await readFile(join(folder, 'one.mark'), 'utf8')).slice(0, 16));

describe('a partial file', () => {
  it('comes in pieces, and is hashed as it comes', async () => {
    await using p = await opened();
    const bytes = randomBytes(250_000);
    const file = await p.partial.begin({ ...begun, size: bytes.length });
    expect([file.offset, p.partial.find('one'), p.partial.list()]).toEqual([0, file, [file]]);
    expect(await append(file, body(bytes.subarray(0, 100_000)))).toBe(100_000);
    expect(await append(file, null)).toBe(100_000);
    const counts: number[] = [];
    const options = { signal: never, onBytes: (count: number) => void counts.push(count) };
    expect(await file.append(body(bytes.subarray(100_000)), options)).toBe(250_000);
    expect([counts[0], counts.at(-1)]).toEqual([110_000, 250_000]);
    const received = await file.received();
    expect(received).toMatchObject({ size: 250_000, ...hashesOf(bytes) });
    expect((await readFile(received.path)).equals(bytes)).toBe(true);
    // Whoever adopts it takes nothing from the partial one.
    await rename(received.path, join(p.folder, 'adopted'));
    expect(await file.received()).toMatchObject(hashesOf(bytes));
    await file.remove();
    await file.remove();
    expect([p.partial.find('one'), p.partial.list()]).toEqual([undefined, []]);
    expect((await p.files()).filter((name) => !name.endsWith('.upload'))).toEqual(['adopted']);
  });

  it('drops the beginning of a body that it has already', async () => {
    await using p = await opened();
    const bytes = randomBytes(50_000);
    const file = await p.partial.begin({ ...begun, size: bytes.length });
    await append(file, body(bytes.subarray(0, 30_000)));
    // More pieces than one, and the boundary within one.
    const options = { signal: never, skip: 25_500, expected: 9_500 };
    expect(await file.append(body(bytes.subarray(4_500, 39_500)), options)).toBe(39_500);
    const none = { signal: never, skip: 20_000, expected: 0 };
    expect(await file.append(body(bytes.subarray(19_500, 39_500)), none)).toBe(39_500);
    const broken = file.append(body(bytes.subarray(20_000, 30_000), { end: 'break' }), none);
    await expect(broken).rejects.toMatchObject({ code: 'intake.broken' });
    expect(await markOf(p.folder)).toBe(39_500);
    expect(await append(file, body(bytes.subarray(39_500)))).toBe(50_000);
    expect(await file.received()).toMatchObject(hashesOf(bytes));
  });

  it('keeps what came of a body that broke off', async () => {
    await using p = await opened();
    const bytes = randomBytes(50_000);
    const file = await p.partial.begin({ ...begun, size: 50_000 });
    await expect(append(file, body(bytes.subarray(0, 30_000), { end: 'break' }))).rejects.toMatchObject({
      code: 'intake.broken',
    });
    expect([file.offset, await markOf(p.folder)]).toEqual([30_000, 30_000]);
    const ending = new AbortController();
    const running = file.append(body(bytes.subarray(30_000, 40_000), { end: 'halt' }), {
      signal: ending.signal,
      onBytes: () => ending.abort(new Error('another came')),
    });
    await expect(running).rejects.toThrow('another came');
    expect(file.offset).toBe(40_000);
    expect(await append(file, body(bytes.subarray(40_000)))).toBe(50_000);
    expect(await file.received()).toMatchObject(hashesOf(bytes));
  });

  it('keeps what came of a sender that fell silent', async () => {
    await using p = await opened();
    const file = await p.partial.begin({ ...begun, size: 50_000 });
    const came = Promise.withResolvers<void>();
    const running = file.append(body(randomBytes(10_000), { end: 'halt' }), {
      signal: never,
      onBytes: () => came.resolve(),
    });
    running.catch(() => {});
    await came.promise;
    await until(() => p.clock.pending() > 0);
    await p.clock.advance(30_000);
    await expect(running).rejects.toMatchObject({ code: 'intake.silent' });
    expect(file.offset).toBe(10_000);
  });

  it('keeps what came of a sender that is too slow', async () => {
    await using p = await opened();
    const file = await p.partial.begin({ ...begun, size: 50_000 });
    const slow = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          await p.clock.advance(25_000);
          controller.enqueue(new Uint8Array(100));
        },
      },
      { highWaterMark: 0 },
    );
    const began = p.clock.now();
    const running = file.append(slow, { signal: never, least: { rate: 1024, window: 60_000 } });
    await expect(running).rejects.toMatchObject({ code: 'intake.slow', status: 408 });
    expect([p.clock.now() - began, file.offset]).toEqual([75_000, 300]);
  });

  it('takes no more than it is to have; what came before that counts', async () => {
    await using p = await opened();
    const file = await p.partial.begin({ ...begun, size: 25_000 });
    await expect(append(file, body(randomBytes(30_000)))).rejects.toMatchObject({
      ...{ code: 'intake.beyond', status: 413 },
    });
    expect(file.offset).toBe(20_000);
  });

  it('is used by one at a time', async () => {
    await using p = await opened();
    const file = await p.partial.begin({ ...begun, size: 25_000 });
    const ending = new AbortController();
    const one = file.append(body(randomBytes(10_000), { end: 'halt' }), { signal: ending.signal });
    one.catch(() => {});
    await expect(append(file, null)).rejects.toThrow('in use');
    await expect(file.remove()).rejects.toThrow('in use');
    await expect(file.received()).rejects.toThrow('missing');
    await expect(p.partial.begin({ ...begun, size: 1 })).rejects.toThrow('already');
    await expect(p.partial.begin({ ...begun, id: '../x', size: 1 })).rejects.toThrow('no id');
    ending.abort(new Error('enough'));
    await expect(one).rejects.toThrow('enough');
    await file.remove();
    await expect(append(file, null)).rejects.toThrow('removed');
  });

  it('may be empty', async () => {
    await using p = await opened();
    const file = await p.partial.begin({ ...begun, size: 0 });
    expect(await file.received()).toMatchObject({ size: 0, ...hashesOf(Buffer.alloc(0)) });
  });

  it('is not begun where there is no room', async () => {
    await using p = await opened({ reserve: 2 ** 60 });
    await expect(p.partial.begin({ ...begun, size: 1 })).rejects.toMatchObject({ code: 'intake.full' });
    expect(await p.files()).toEqual([]);
  });

  it('takes room for what is to come of it, and on the disk of the store for all of it', async () => {
    const free = { spool: 100_000, store: 60_000 };
    await using p = await opened({
      store: '/store',
      look: async (folder) => ({
        ...(folder === '/store' ? { free: free.store, device: 2 } : { free: free.spool, device: 1 }),
        size: 1e9,
      }),
    });
    const file = await p.partial.begin({ ...begun, size: 50_000 });
    expect(await append(file, body(randomBytes(30_000)))).toBe(30_000);
    free.store = 49_999;
    const rest = { signal: never, expected: 20_000 };
    await expect(file.append(body(randomBytes(20_000)), rest)).rejects.toMatchObject({ code: 'intake.full' });
    free.store = 50_000;
    expect(await file.append(body(randomBytes(20_000)), rest)).toBe(50_000);
    const received = await file.received();
    // It is promised until it is discarded.
    await expect(p.intake.checkRoom(1)).rejects.toMatchObject({ code: 'intake.full' });
    await received.discard();
    await p.intake.checkRoom(50_000);
  });

  it('is kept when the program ends, with all that came', async () => {
    await using p = await opened();
    const bytes = randomBytes(40_000);
    const file = await p.partial.begin({ ...begun, size: 40_000 });
    const came = Promise.withResolvers<void>();
    const running = file.append(body(bytes.subarray(0, 10_000), { end: 'halt' }), {
      signal: never,
      onBytes: () => came.resolve(),
    });
    running.catch(() => {});
    await came.promise;
    await p.intake.close();
    await expect(running).rejects.toMatchObject({ code: 'intake.unavailable' });
    await expect(append(file, null)).rejects.toMatchObject({ code: 'intake.unavailable' });
    await p.restart();
    expect(p.partial.find('one')).toMatchObject({ ...begun, size: 40_000, offset: 10_000 });
    expect(await append(p.partial.find('one'), body(bytes.subarray(10_000)))).toBe(40_000);
    expect(await p.partial.find('one')?.received()).toMatchObject(hashesOf(bytes));
  });
});

describe('after a process that died', () => {
  it('what was told is there; what was not synced is cut, and comes again', async () => {
    await using p = await opened({ limits: { sync: 20_000 } });
    const bytes = randomBytes(100_000);
    const first = await p.partial.begin({ ...begun, size: bytes.length });
    expect(await append(first, body(bytes.subarray(0, 15_000)))).toBe(15_000);
    const lost = append(first, body(bytes.subarray(15_000, 68_000), { end: 'halt', piece: 1000 }));
    lost.catch(() => {});
    // All of it is written, and what was synced meanwhile is marked.
    await until(async () => (await readFile(join(p.folder, 'one.part'))).length === 68_000);
    await until(async () => (await markOf(p.folder)) >= 35_000);
    await writeFile(join(p.folder, 'half.upload'), 'of the former');
    await p.restart();
    const marked = await markOf(p.folder);
    const file = p.partial.find('one');
    expect(file).toMatchObject({ ...begun, size: bytes.length, offset: marked });
    expect(await p.files()).toEqual(['one.mark', 'one.part']);
    // A tail that power loss tore.
    await writeFile(
      join(p.folder, 'one.part'),
      Buffer.concat([bytes.subarray(0, marked), Buffer.alloc(40_000)]),
    );
    for (let at = marked; at < bytes.length; at += 9000)
      await append(file, body(bytes.subarray(at, at + 9000), { piece: 3000 }));
    const received = await file?.received();
    expect(received).toMatchObject(hashesOf(bytes));
    expect((await readFile(received?.path ?? '')).equals(bytes)).toBe(true);
  });

  it('is whole after any number of deaths and broken connections', async () => {
    await using p = await opened({ limits: { sync: 4000 } });
    const bytes = randomBytes(300_000);
    await p.partial.begin({ ...begun, size: bytes.length });
    let seed = 1;
    const random = (below: number) => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    for (;;) {
      const file = p.partial.find('one');
      const at = file?.offset ?? 0;
      if (at === bytes.length) break;
      const end = (['close', 'break', 'close'] as const)[random(3)];
      const piece = bytes.subarray(at, at + 1 + random(20_000));
      await append(file, body(piece, { end, piece: 1 + random(6000) })).catch(() => {});
      expect(file?.offset).toBe(at + piece.length);
      if (random(4) === 0) await p.restart();
    }
    expect(await p.partial.find('one')?.received()).toMatchObject(hashesOf(bytes));
  });

  it('one that is whole is hashed again', async () => {
    await using p = await opened();
    const bytes = randomBytes(12_345);
    await append(await p.partial.begin({ ...begun, size: bytes.length }), body(bytes));
    await p.restart();
    expect(await p.partial.find('one')?.received()).toMatchObject(hashesOf(bytes));
  });

  it('nothing is kept of one that is late, torn, shorter than was told, or half begun', async () => {
    await using p = await opened();
    const kept = await p.partial.begin({ ...begun, id: 'kept', size: 10, expires: 2001 });
    await p.partial.begin({ ...begun, id: 'late', size: 10, expires: 1999 });
    for (const id of ['torn', 'short', 'headless', 'huge'])
      await append(await p.partial.begin({ ...begun, id, expires: 9999, size: 10 }), body(Buffer.alloc(10)));
    await truncate(join(p.folder, 'torn.mark'), 30);
    await truncate(join(p.folder, 'short.part'), 9);
    await rm(join(p.folder, 'headless.mark'));
    const huge = (await readFile(join(p.folder, 'huge.mark'), 'utf8')).replace(
      '0000000000000010',
      '0000000000000011',
    );
    await writeFile(join(p.folder, 'huge.mark'), huge);
    await writeFile(join(p.folder, 'x.mark.new'), '');
    await writeFile(join(p.folder, 'notes.txt'), 'mine');
    await p.clock.advance(1000);
    await p.restart();
    expect(p.partial.list().map(({ id }) => id)).toEqual([kept.id]);
    expect(await p.files()).toEqual(['kept.mark', 'kept.part', 'notes.txt']);
  });
});

it('a disk that fails costs what was not marked, and no more', async () => {
  await using p = await opened({ limits: { sync: 10_000 } });
  const bytes = randomBytes(60_000);
  const file = await p.partial.begin({ ...begun, size: bytes.length });
  await append(file, body(bytes.subarray(0, 20_000)));
  // Where the file was there is none that could be opened.
  await rename(join(p.folder, 'one.part'), join(p.folder, 'away'));
  await expect(append(file, body(bytes.subarray(20_000)))).rejects.toMatchObject({
    code: 'intake.unavailable',
    message: 'The file could not be written down: the disk says ENOENT.',
  });
  expect(file.offset).toBe(20_000);
  await rename(join(p.folder, 'away'), join(p.folder, 'one.part'));
  expect(await append(file, body(bytes.subarray(20_000)))).toBe(60_000);
  expect(await file.received()).toMatchObject(hashesOf(bytes));
});
