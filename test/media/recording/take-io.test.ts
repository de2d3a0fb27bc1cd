import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DirectDisk } from '../../../runtime/media/recording/direct-disk.ts';
import { DirectIo } from '../../../runtime/media/recording/direct-io.ts';
import { recorderDefaults } from '../../../runtime/media/recording/limits.ts';
import { md5 } from '../../../runtime/media/recording/md5/md5.ts';
import { fileIo, OpenFiles } from '../../../runtime/media/recording/open-files.ts';
import { type TakeIo, takeBlock } from '../../../runtime/media/recording/take-file.ts';
import { randomNumbers } from '../../recording/random-numbers.ts';
import { clock } from './fixtures.ts';

interface World {
  readonly path: string;
  readonly files: OpenFiles;
  /** Each is what a new process has of the file. */
  open(): TakeIo;
}

/** @param options.call does a direct call, or something else */
function direct(
  options: {
    piece?: number;
    least?: number;
    isOn?: () => boolean;
    call?: (real: () => unknown) => unknown;
  } = {},
) {
  const { piece = 1 << 20, least = 0, isOn = () => true, call = (real) => real() } = options;
  return (path: string, files: OpenFiles) => {
    const limits = { ...recorderDefaults, directPiece: piece };
    const disk = new DirectDisk({ limits, now: () => 0, onRefused() {}, onFailed() {}, onSlow() {} });
    Object.defineProperty(disk, 'isOn', { get: isOn });
    const ask = disk.ask.bind(disk);
    disk.ask = ((real: () => unknown) => ask(() => call(real))) as DirectDisk['ask'];
    return new DirectIo(path, { files, disk, least });
  };
}

let turn = 0;
/** All ways to a file; a file system without direct calls makes some of them the ordinary one. */
const ways: Record<string, (path: string, files: OpenFiles) => TakeIo> = {
  'through the cache': (path, files) => fileIo(files, path),
  'past the cache': direct(),
  'past the cache, in pieces of a block': direct({ piece: takeBlock }),
  'past the cache, in pieces of two': direct({ piece: 2 * takeBlock }),
  'now so, now so': direct({ isOn: () => turn++ % 3 > 0 }),
  'where there is no such way': direct({
    call() {
      throw coded('EINVAL');
    },
  }),
};

function inWorld(
  open: (path: string, files: OpenFiles) => TakeIo,
  options: { most: number; flags?: { O_DIRECT?: number } } = { most: 10 },
) {
  return (work: (world: World) => void) => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-take-io-'));
    const path = join(folder, 'a.mp4');
    const files = new OpenFiles({ clock, ...options });
    try {
      work({ path, files, open: () => open(path, files) });
    } finally {
      files.close(path);
      rmSync(folder, { recursive: true });
    }
  };
}

const inWorldOnce = (work: (world: Omit<World, 'open'>) => void) =>
  inWorld((path, files) => fileIo(files, path))(work);

/** Bytes that differ everywhere, none of them zero. */
function noise(size: number, seed: number): Uint8Array {
  const next = randomNumbers(seed);
  return Uint8Array.from({ length: size }, () => 1 + next(255));
}

/** Its bytes as it tells them, and as whoever opens the file sees them. */
function check(io: TakeIo, expected: Uint8Array, path: string): void {
  expect(io.size).toBe(expected.length);
  const all = new Uint8Array(expected.length + 10);
  expect(io.read(0, all)).toBe(expected.length);
  expect(Buffer.compare(all.subarray(0, expected.length), expected)).toBe(0);
  const seen = readFileSync(path);
  expect(Buffer.compare(seen.subarray(0, expected.length), expected)).toBe(0);
  const rest = seen.subarray(expected.length);
  expect(rest.length).toBeLessThan(takeBlock);
  expect(rest.every((byte) => byte === 0)).toBe(true);
}

/** A file as bytes in memory. */
class Model {
  bytes = new Uint8Array();

  write(at: number, bytes: Uint8Array): void {
    const grown = new Uint8Array(Math.max(this.bytes.length, at + bytes.length));
    grown.set(this.bytes);
    grown.set(bytes, at);
    this.bytes = grown;
  }
}

describe.each(Object.entries(ways))('a file %s', (_, open) => {
  const run = inWorld(open);
  const sizes = [1, 511, 512, 4095, 4096, 4097, 8192, 12_289];

  it('is what was written to it, wherever a write begins and ends', () =>
    run(({ open, path }) => {
      const io = open();
      const model = new Model();
      for (const first of sizes) {
        for (const second of sizes) {
          for (const size of [first, second]) {
            const bytes = noise(size, first * 10_000 + second);
            io.write(model.bytes.length, bytes);
            model.write(model.bytes.length, bytes);
          }
          check(io, model.bytes, path);
        }
      }
    }));

  it('is what was written to it, whatever comes in which order, also where it is opened anew', () =>
    run(({ open, path, files }) => {
      const next = randomNumbers(7);
      let io = open();
      const model = new Model();
      for (let round = 0; round < 400; round += 1) {
        const { length } = model.bytes;
        const kind = next(12);
        if (kind < 6) {
          const bytes = noise(1 + next(3) * next(10_000) + next(300), round);
          io.write(length, bytes);
          model.write(length, bytes);
        } else if (kind === 6 && length > 8) {
          // As the header of an extent: in the middle, or just before the end.
          const at = next(2) === 0 ? next(length - 8) : length - 8;
          io.write(at, noise(8, round));
          model.write(at, noise(8, round));
        } else if (kind === 7 && length > 0) {
          const bytes = noise(100 + next(9000), round);
          const at = length - 1 - next(Math.min(length, 5000));
          io.write(at, bytes);
          model.write(at, bytes);
        } else if (kind === 8) {
          model.bytes = model.bytes.slice(0, length - next(Math.min(length, 9000) + 1));
          io.truncate(model.bytes.length);
        } else if (kind === 9) {
          io.settle();
          expect(statSync(path).size).toBe(length);
        } else if (kind === 10 && length > 0) {
          io.close();
          expect(files.count).toBe(0);
          expect(statSync(path).size).toBe(length);
        } else {
          // The process was killed. Who finds the file cuts off what is no part of it.
          io = open();
          expect(io.size - length).toBeGreaterThanOrEqual(0);
          if (io.size > length) io.truncate(length);
        }
        check(io, model.bytes, path);
      }
    }));

  it('answers what is there, from everywhere and into any memory', () =>
    run(({ open }) => {
      const io = open();
      const bytes = noise(70_000, 3);
      for (let at = 0; at < bytes.length; at += 7000) io.write(at, bytes.subarray(at, at + 7000));
      const room = md5({ piece: 65_536 }).room(0);
      for (const at of [0, 1, 4095, 4096, 8192, 65_536, 69_632, 69_999, 70_000, 80_000]) {
        for (const size of [0, 1, 64, 4096, 5000, 65_536]) {
          for (const into of [room.subarray(0, size), new Uint8Array(size), room.subarray(64, 64 + size)]) {
            for (const how of ['read', 'readOnce'] as const) {
              into.fill(0);
              const count = Math.min(into.length, Math.max(0, bytes.length - at));
              expect(io[how](at, into), `${how} ${at} ${size}`).toBe(count);
              const wrong = Buffer.compare(into.subarray(0, count), bytes.subarray(at, at + count));
              expect(wrong, `${how} ${at} ${size}`).toBe(0);
            }
          }
        }
      }
    }));

  it('goes on when its file was closed meanwhile, because others are open', () =>
    inWorld(open, { most: 1 })(({ open, path, files }) => {
      const io = open();
      const model = new Model();
      for (const [round, size] of [10, 5000, 4096, 100, 70_000, 3].entries()) {
        const bytes = noise(size, round);
        io.write(model.bytes.length, bytes);
        model.write(model.bytes.length, bytes);
        files.get(`${path}.other`);
        expect(files.count).toBe(1);
        check(io, model.bytes, path);
      }
      files.close(`${path}.other`);
    }));
});

it.each([0, 0.5, 1])('a write that fails when the disk has %d of it takes nothing away', (share) =>
  inWorldOnce(({ path, files }) => {
    const model = new Model();
    let code: string | undefined;
    let bytes: Uint8Array = new Uint8Array();
    const call = (real: () => unknown) => {
      if (code === undefined) return real();
      const file = openSync(path, 'r+');
      writeSync(file, bytes, 0, Math.ceil(bytes.length * share), model.bytes.length);
      closeSync(file);
      throw coded(code);
    };
    const io = direct({ call })(path, files);
    for (const [round, size] of [10_000, 4096, 30, 9000, 2192, 5].entries()) {
      bytes = noise(size, round);
      for (code of ['ENOSPC', 'EIO', 'EDQUOT']) {
        expect(() => io.write(model.bytes.length, bytes)).toThrow(code);
        expect(io.size).toBe(model.bytes.length);
        // As `TakeFile` mends it; not each time, as it does not when nothing more comes.
        if (code !== 'EIO') io.truncate(model.bytes.length);
      }
      code = undefined;
      io.write(model.bytes.length, bytes);
      model.write(model.bytes.length, bytes);
      check(io, model.bytes, path);
    }
    code = 'EIO';
    expect(() => io.write(model.bytes.length, bytes)).toThrow('EIO');
    io.settle();
    check(io, model.bytes, path);
    expect(statSync(path).size).toBe(model.bytes.length);
  }),
);

it('goes the ordinary way for good where the system has no flag for another', () => {
  const refused: string[] = [];
  const run = inWorld(
    (path, files) => {
      const disk = new DirectDisk({
        limits: recorderDefaults,
        now: () => 0,
        onRefused: (error) => refused.push(String(error)),
        onFailed() {},
        onSlow() {},
      });
      return new DirectIo(path, { files, disk, least: 0 });
    },
    { most: 10, flags: {} },
  );
  run(({ open, path, files }) => {
    const io = open();
    const bytes = noise(50_000, 1);
    for (let at = 0; at < bytes.length; at += 10_000) io.write(at, bytes.subarray(at, at + 10_000));
    check(io, bytes, path);
    expect(files.count).toBe(1);
  });
  expect(refused).toEqual(['Error: this system has no O_DIRECT']);
});

it('goes through the cache while little is added at a time, and past it while much is', () =>
  inWorldOnce(({ path, files }) => {
    let calls = 0;
    const call = (real: () => unknown) => {
      calls += 1;
      return real();
    };
    const io = direct({ call, least: 32_768 })(path, files);
    const countOf = (writes: number, size: number) => {
      calls = 0;
      for (let n = 0; n < writes; n += 1) io.write(io.size, new Uint8Array(size));
      return calls;
    };
    expect(countOf(20, 8000)).toBe(0);
    // In the mean.
    expect(countOf(1, 100_000)).toBe(0);
    expect(countOf(20, 100_000)).toBeGreaterThan(15);
    expect(countOf(2, 100)).toBe(2);
    expect(countOf(50, 20_000)).toBe(50);
    expect(countOf(50, 8000)).toBeLessThan(20);
    expect(countOf(50, 20_000)).toBe(0);
  }));

it('reads past the cache what was written so, and nothing that may still be in it', () =>
  inWorldOnce(({ path, files }) => {
    let calls = 0;
    let isOn = true;
    const call = (real: () => unknown) => {
      calls += 1;
      return real();
    };
    const io = direct({ call, isOn: () => isOn })(path, files);
    const room = md5({ piece: 65_536 }).room(0);
    const countOf = (at: number, into = room) => {
      calls = 0;
      io.readOnce(at, into);
      return calls;
    };
    io.write(0, noise(100_000, 1));
    isOn = false;
    io.write(100_000, noise(100_000, 2));
    isOn = true;
    io.write(200_000, noise(100_000, 3));
    expect([0, 65_536, 131_072, 196_608, 204_800].map((at) => countOf(at))).toEqual([0, 0, 0, 0, 1]);
    // Memory or a place that is no multiple of a block.
    expect([countOf(204_801), countOf(204_800, room.subarray(64))]).toEqual([0, 0]);
    isOn = false;
    expect(countOf(204_800)).toBe(0);
  }));

function coded(code: string): Error {
  return Object.assign(new Error(`${code}: said by a test`), { code });
}
