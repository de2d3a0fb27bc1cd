import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Blobs } from '../../core/ports/blobs.ts';
import type { CidProfile, PackOptions } from '../../core/ports/packer.ts';
import { fsBlobs } from '../../runtime/drivers/blobs/fs/index.ts';
import { packer as filePacker } from '../../runtime/drivers/packer/packer.ts';
import { asTimePasses } from '../kit/as-time-passes.ts';
import { virtualClock } from '../kit/virtual-clock.ts';
import { cidTable, tableBytes } from './cid-table.ts';
import { unpacked } from './unpack.ts';

const profiles: CidProfile[] = ['unixfs-v1-2025', 'unixfs-v0-2015'];
const key = 'assets/a/source.mp4';
const never = new AbortController().signal;
const given = (more: Partial<PackOptions> = {}): PackOptions => ({
  ...{ folder: 'assets/a/ipfs/', profile: 'unixfs-v1-2025', signal: never },
  ...more,
});
type Limits = Parameters<typeof filePacker>[0]['limits'];

async function opened(
  options: { reserve?: number; limits?: Limits; worker?: URL; blobs?: Partial<Blobs> } = {},
) {
  const base = await mkdtemp(join(tmpdir(), 'millrace-packer-'));
  const folder = join(base, 'packing');
  const clock = virtualClock({ start: 0, idle: async () => {} });
  const blobs = fsBlobs({ folder: join(base, 'blobs') });
  await blobs.open();
  const packer = filePacker({
    ...{ folder, clock, reserve: options.reserve ?? 0 },
    blobs: { ...blobs, ...options.blobs },
    ...(options.limits && { limits: options.limits }),
    ...(options.worker && { worker: options.worker }),
  });
  await packer.open();
  return {
    ...{ packer, clock, blobs, folder },
    spooled: () => readdir(folder),
    async put(bytes: Uint8Array) {
      await blobs.put(key, bytes);
      return { key, size: bytes.length };
    },
    async bytesOf(at: string) {
      const found = await blobs.get(at);
      if (found.outcome !== 'ok') throw new Error(`${at} is ${found.outcome}`);
      return { type: found.blob.type, size: found.blob.size, bytes: await new Response(found.body).bytes() };
    },
    async keys() {
      return (await blobs.list('assets/a/', { limit: 100 })).blobs.map((blob) => blob.key);
    },
    async [Symbol.asyncDispose]() {
      await packer.close();
      expect(clock.pending()).toBe(0);
      await blobs.close();
      await rm(base, { recursive: true });
    },
  };
}

describe.each(cidTable)('a file of $size bytes', ({ size, cids }) => {
  it.each(profiles)(
    'has by %s the CID that Kubo gives it, in a CAR that anybody can verify',
    async (profile) => {
      await using p = await opened();
      const bytes = tableBytes(size);
      const packed = await p.packer.pack(await p.put(bytes), given({ profile }));
      expect(packed.cid).toBe(cids[profile]);
      const car = await p.bytesOf(packed.key);
      expect([car.size, car.type]).toEqual([packed.size, 'application/vnd.ipld.car']);
      const inside = await unpacked(car.bytes);
      expect(inside.root).toBe(cids[profile]);
      expect(inside.bytes.equals(bytes)).toBe(true);
      expect(await p.spooled()).toEqual([]);
    },
  );
});

describe('a CAR', () => {
  it('is named by its CID, in letters that a key may have', async () => {
    await using p = await opened();
    const source = await p.put(tableBytes(1));
    const [v1, v0] = await Promise.all(profiles.map((profile) => p.packer.pack(source, given({ profile }))));
    expect(v1.key).toBe(`assets/a/ipfs/${v1.cid}.car`);
    expect(v0.cid).toMatch(/^Qm/);
    expect(v0.key).toMatch(/^assets\/a\/ipfs\/bafybei[a-z2-7]+\.car$/);
  });

  it('is made of bytes too, which stay as they are', async () => {
    await using p = await opened();
    const bytes = Buffer.from('{"name":"A film"}');
    const packed = await p.packer.pack({ bytes }, given());
    expect(bytes.toString()).toBe('{"name":"A film"}');
    expect((await unpacked((await p.bytesOf(packed.key)).bytes)).bytes.equals(bytes)).toBe(true);
    const empty = await p.packer.pack({ bytes: new Uint8Array() }, given());
    expect(empty.cid).toBe(cidTable[0].cids['unixfs-v1-2025']);
  });

  it('is the same when it is packed again, and who reads it is not disturbed', async () => {
    await using p = await opened();
    const source = await p.put(tableBytes(3e6));
    const first = await p.packer.pack(source, given());
    const before = await p.blobs.head(first.key);
    expect(await p.packer.pack(source, given())).toEqual(first);
    expect(await p.blobs.head(first.key)).toEqual(before);
    expect([await p.spooled(), (await p.keys()).length]).toEqual([[], 2]);
  });

  it('holds a block twice that the file has twice', async () => {
    await using p = await opened();
    const bytes = new Uint8Array(3 * 1_048_576);
    const { key: at, size } = await p.packer.pack(await p.put(bytes), given());
    expect(size).toBeGreaterThan(bytes.length);
    expect((await unpacked((await p.bytesOf(at)).bytes)).bytes.equals(bytes)).toBe(true);
  });
});

it('tells how far it is, and never goes back', async () => {
  await using p = await opened();
  const told: number[] = [];
  await p.packer.pack(await p.put(tableBytes(10e6)), given({ progress: (fraction) => told.push(fraction) }));
  expect(told.length).toBeGreaterThan(3);
  expect([told.toSorted((a, b) => a - b), told.at(-1)]).toEqual([told, 1]);
});

it('leaves the other half of the way to the store where that copies', async () => {
  await using p = await opened({ blobs: { adopting: 'copy' } });
  const told: number[] = [];
  await p.packer.pack(await p.put(tableBytes(3e6)), given({ progress: (fraction) => told.push(fraction) }));
  expect(told.at(-1)).toBe(0.5);
});

it('reads no faster than it packs: so much of a file lies in memory, and no more', async () => {
  const piece = 65_536;
  let read = 0;
  const body = () =>
    new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          read += 1;
          if (read > 40) controller.close();
          else controller.enqueue(new Uint8Array(piece));
        },
      },
      { highWaterMark: 0 },
    );
  const size = 40 * piece;
  const get = async () => ({ outcome: 'ok', blob: { size }, from: 0, to: size, body: body() });
  await using p = await opened({ limits: { perFile: 3 * piece }, blobs: { get: get as never } });
  const running = p.packer.pack({ key, size }, given());
  while (read < 4) await new Promise((resolve) => setImmediate(resolve));
  // Before the thread has said anything.
  for (let turn = 0; turn < 200; turn += 1) await Promise.resolve();
  expect(read).toBeLessThanOrEqual(5);
  expect((await running).cid).toMatch(/^baf/);
  expect(read).toBe(41);
});

it('packs so many at a time; others wait, and too many are refused', async () => {
  const gates: (() => void)[] = [];
  const get = async () => {
    await new Promise<void>((resolve) => gates.push(resolve));
    return { outcome: 'ok', blob: { size: 1 }, body: new Blob([new Uint8Array(1)]).stream() };
  };
  await using p = await opened({ limits: { running: 2, waiting: 2 }, blobs: { get: get as never } });
  const leaving = new AbortController();
  const pack = (signal = never) => p.packer.pack({ key, size: 1 }, given({ signal }));
  const all = [pack(), pack(), pack()];
  const left = pack(leaving.signal);
  await expect(pack()).rejects.toMatchObject({ code: 'packing.unavailable', status: 503 });
  leaving.abort(new Error('not wanted'));
  await expect(left).rejects.toThrow('not wanted');
  while (gates.length < 2) await new Promise((resolve) => setImmediate(resolve));
  for (const open of gates) open();
  while (gates.length < 3) await new Promise((resolve) => setImmediate(resolve));
  gates[2]();
  expect(new Set((await Promise.all(all)).map(({ cid }) => cid)).size).toBe(1);
});

describe('nothing is left of a file', () => {
  const halting = (size: number) => {
    const asked = Promise.withResolvers<void>();
    let isCancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (controller.desiredSize === 1) controller.enqueue(new Uint8Array(65_536));
        else asked.resolve();
        return asked.promise.then(() => new Promise(() => {}));
      },
      cancel() {
        isCancelled = true;
      },
    });
    const get = async () => {
      asked.resolve();
      return { outcome: 'ok', blob: { size }, body };
    };
    return { blobs: { get: get as never }, asked: asked.promise, wasCancelled: () => isCancelled };
  };

  it('that nobody wants any more', async () => {
    const source = halting(1e6);
    await using p = await opened({ blobs: source.blobs });
    const ending = new AbortController();
    const running = p.packer.pack({ key, size: 1e6 }, given({ signal: ending.signal }));
    running.catch(() => {});
    await source.asked;
    while ((await p.spooled()).length === 0) await new Promise((resolve) => setImmediate(resolve));
    ending.abort(new Error('cancelled'));
    await expect(running).rejects.toThrow('cancelled');
    expect([await p.spooled(), await p.keys(), source.wasCancelled()]).toEqual([[], [], true]);
    await expect(p.packer.pack({ key, size: 1 }, given({ signal: ending.signal }))).rejects.toThrow(
      'cancelled',
    );
  });

  it('that was replaced or deleted', async () => {
    await using p = await opened();
    const source = await p.put(tableBytes(100));
    for (const wrong of [
      { ...source, size: 99 },
      { ...source, key: 'assets/a/none.mp4' },
    ]) {
      await expect(p.packer.pack(wrong, given())).rejects.toMatchObject({
        code: 'packing.changed',
        status: 409,
      });
    }
    expect([await p.spooled(), await p.keys()]).toEqual([[], [key]]);
  });

  it('that cannot be read to its end', async () => {
    const body = () =>
      new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(new Uint8Array(1e5));
        },
        pull: (controller) => controller.error(new Error('the store is gone')),
      });
    const get = async () => ({ outcome: 'ok', blob: { size: 1e6 }, body: body() });
    await using p = await opened({ blobs: { get: get as never } });
    await expect(p.packer.pack({ key, size: 1e6 }, given())).rejects.toThrow('the store is gone');
    expect([await p.spooled(), await p.keys()]).toEqual([[], []]);
  });

  it('that cannot be stored', async () => {
    const full = Object.assign(new Error('the store has no room'), { code: 'blobs.full' });
    await using p = await opened({ blobs: { adopt: () => Promise.reject(full) } });
    await expect(p.packer.pack(await p.put(tableBytes(100)), given())).rejects.toBe(full);
    expect([await p.spooled(), await p.keys()]).toEqual([[], [key]]);
  });

  it('for which there is no room', async () => {
    await using none = await opened({ reserve: 2 ** 60 });
    await expect(none.packer.pack(await none.put(tableBytes(1)), given())).rejects.toMatchObject({
      ...{ code: 'packing.full', status: 507 },
    });
    await using p = await opened();
    await expect(p.packer.pack({ key, size: 2 ** 52 }, given())).rejects.toMatchObject({
      code: 'packing.full',
    });
    expect([await none.spooled(), await p.spooled()]).toEqual([[], []]);
  });

  it('that cannot be written', async () => {
    await using p = await opened();
    const source = await p.put(tableBytes(100));
    await rm(p.folder, { recursive: true });
    await expect(p.packer.pack(source, given())).rejects.toMatchObject({ code: 'packing.unavailable' });
  });

  it('that runs or waits when the server ends; the next one is refused', async () => {
    const source = halting(1e6);
    const p = await opened({ blobs: source.blobs, limits: { running: 1 } });
    const all = [0, 1].map(() => p.packer.pack({ key, size: 1e6 }, given()));
    const ended = all.map((one) => expect(one).rejects.toMatchObject({ code: 'packing.unavailable' }));
    await source.asked;
    await p.packer.close();
    await Promise.all(ended);
    expect(await p.spooled()).toEqual([]);
    await expect(p.packer.pack({ key, size: 1 }, given())).rejects.toMatchObject({
      code: 'packing.unavailable',
    });
    await p[Symbol.asyncDispose]();
  });

  it('that a former process left; what is not ours stays', async () => {
    await using p = await opened();
    await writeFile(join(p.folder, 'x.car'), 'half');
    await writeFile(join(p.folder, 'notes.txt'), 'mine');
    await p.packer.open();
    expect(await p.spooled()).toEqual(['notes.txt']);
  });
});

it('a disk that fails is told by its code, without a path of this machine', async () => {
  await using p = await opened();
  const source = await p.put(tableBytes(100));
  await rm(p.folder, { recursive: true });
  await expect(p.packer.pack(source, given())).rejects.toMatchObject({
    code: 'packing.unavailable',
    message: 'The file could not be packed for IPFS: the disk says ENOENT.',
  });
});

describe('its thread', () => {
  const worker = new URL('./stuck-child.ts', import.meta.url);

  it('that hangs is ended when its file is not wanted any more', async () => {
    await using p = await opened({ worker });
    const ending = new AbortController();
    const running = p.packer.pack(await p.put(tableBytes(100)), given({ signal: ending.signal }));
    const ended = expect(running).rejects.toThrow('too late');
    await new Promise((resolve) => setImmediate(resolve));
    ending.abort(new Error('too late'));
    await asTimePasses(ended, () => p.clock.advance(2_000));
    expect(await p.spooled()).toEqual([]);
  });

  it('that dies is told of, and another is begun', async () => {
    await using p = await opened({ worker });
    const source = await p.put(tableBytes(100));
    for (let n = 0; n < 2; n += 1) {
      await expect(p.packer.pack(source, given({ profile: 'unixfs-v0-2015' }))).rejects.toMatchObject({
        code: 'packing.unavailable',
        message: expect.stringContaining('a bug'),
      });
    }
  });
});
