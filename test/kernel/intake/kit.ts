import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { DiskLook } from '../../../runtime/base/disk.ts';
import { diskIntake } from '../../../runtime/drivers/intake/intake.ts';
import { type VirtualClock, virtualClock } from '../../kit/virtual-clock.ts';

/** An intake of its own, in an own folder. */
export async function opened(
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

export const never = new AbortController().signal;

/** Pieces, each when it is asked for. `read`: how many were. */
export function source(pieces: readonly Uint8Array[], end: 'close' | 'halt' | Error = 'close') {
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
export function trickle(
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
export const least = { rate: 1024, window: 60_000 };
export const pieces = (count: number, size = 65_536) =>
  Array.from({ length: count }, () => randomBytes(size));
