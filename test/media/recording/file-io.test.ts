import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type DiskFile, diskFile, type FileIo } from '../../../runtime/media/recording/thread/file-io.ts';
import { randomNumbers } from '../../recording/random-numbers.ts';

interface World {
  readonly path: string;
  /** Each is what a new process has of the file. */
  open(): DiskFile;
}

async function inWorld(work: (world: World) => void | Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-file-io-'));
  const path = join(folder, 'a.mp4');
  const opened: DiskFile[] = [];
  try {
    await work({
      path,
      open() {
        opened.push(diskFile(path));
        return opened.at(-1)!;
      },
    });
  } finally {
    for (const file of opened) file.close();
    rmSync(folder, { recursive: true });
  }
}

/** Bytes that differ everywhere, none of them zero. */
function noise(size: number, seed: number): Uint8Array {
  const next = randomNumbers(seed);
  return Uint8Array.from({ length: size }, () => 1 + next(255));
}

/** Its bytes as it tells them, and as whoever opens the file sees them. */
function check(io: FileIo, expected: Uint8Array, path: string): void {
  expect(io.size).toBe(expected.length);
  const all = new Uint8Array(expected.length + 10);
  expect(io.read(0, all)).toBe(expected.length);
  expect(Buffer.compare(all.subarray(0, expected.length), expected)).toBe(0);
  expect(Buffer.compare(readFileSync(path), expected)).toBe(0);
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

describe('a file on disk', () => {
  const sizes = [1, 511, 512, 4095, 4096, 4097, 8192, 12_289];

  it('is what was written to it, wherever a write begins and ends', () =>
    inWorld(({ open, path }) => {
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
    inWorld(({ open, path }) => {
      const next = randomNumbers(7);
      let io = open();
      const model = new Model();
      for (let round = 0; round < 400; round += 1) {
        const { length } = model.bytes;
        const kind = next(11);
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
        } else if (kind === 9 && length > 0) {
          io.close();
        } else {
          // The process was killed.
          io = open();
        }
        check(io, model.bytes, path);
      }
    }));

  it('answers what is there, from everywhere and into any memory', () =>
    inWorld(({ open }) => {
      const io = open();
      const bytes = noise(70_000, 3);
      for (let at = 0; at < bytes.length; at += 7000) io.write(at, bytes.subarray(at, at + 7000));
      const room = new Uint8Array(65_600);
      for (const at of [0, 1, 4095, 4096, 8192, 65_536, 69_632, 69_999, 70_000, 80_000]) {
        for (const size of [0, 1, 64, 4096, 5000, 65_536]) {
          for (const into of [room.subarray(0, size), room.subarray(64, 64 + size)]) {
            into.fill(0);
            const count = Math.min(into.length, Math.max(0, bytes.length - at));
            expect(io.read(at, into), `${at} ${size}`).toBe(count);
            const wrong = Buffer.compare(into.subarray(0, count), bytes.subarray(at, at + count));
            expect(wrong, `${at} ${size}`).toBe(0);
          }
        }
      }
    }));

  it('can be closed while it is synced, and goes on afterwards', () =>
    inWorld(async ({ open, path }) => {
      const io = open();
      const bytes = noise(70_000, 5);
      io.write(0, bytes.subarray(0, 5000));
      const syncing = [io.sync(), io.sync()];
      io.close();
      io.write(5000, bytes.subarray(5000));
      await Promise.all(syncing);
      check(io, bytes, path);
    }));
});
