import { closeSync, fdatasync, openSync, unlinkSync, writeSync } from 'node:fs';
import { packFile } from './pack-file.ts';
import type { Begin, FromWorker, ToWorker } from './protocol.ts';

/** The thread that packs files for IPFS. */
interface Packing {
  /** Pieces that are not taken yet. */
  readonly pieces: Uint8Array[];
  isEnded: boolean;
  isDropped: boolean;
  /** There is a piece, or an end. */
  wake(): void;
}

const port = globalThis as unknown as Worker;
const packings = new Map<number, Packing>();

port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  const { id } = data;
  if ('begin' in data) return void pack(id, data.begin);
  const one = packings.get(id);
  if (one === undefined) {
    // It is over, which was told; its file is gone, or the other thread's to remove.
    if ('drop' in data) say({ id, dropped: true });
    return;
  }
  if ('bytes' in data) one.pieces.push(data.bytes);
  else if ('end' in data) one.isEnded = true;
  else one.isDropped = true;
  one.wake();
};

async function pack(id: number, { path, profile, sync }: Begin): Promise<void> {
  const one: Packing = { pieces: [], isEnded: false, isDropped: false, wake() {} };
  packings.set(id, one);
  let file: number | undefined;
  try {
    file = openSync(path, 'wx', 0o600);
    const car = synced(file, sync);
    const packed = await packFile(pieces(id, one), { profile, sink: car }).finally(car.settled);
    await car.sync();
    if (one.isDropped) throw dropped;
    closeSync(file);
    packings.delete(id);
    say({ id, done: { ...packed, size: car.size } });
  } catch (error) {
    packings.delete(id);
    if (file !== undefined) remove(file, path);
    if (one.isDropped) return say({ id, dropped: true });
    const { message, code = '' } = error as NodeJS.ErrnoException;
    say({ id, failed: { message, code } });
  }
}

const dropped = new Error('nobody wants it any more');

async function* pieces(id: number, one: Packing): AsyncGenerator<Uint8Array> {
  for (;;) {
    if (one.isDropped) throw dropped;
    const piece = one.pieces.shift();
    if (piece !== undefined) {
      yield piece;
      say({ id, taken: piece.byteLength });
    } else if (one.isEnded) return;
    else
      await new Promise<void>((resolve) => {
        one.wake = resolve;
      });
  }
}

/** A file that is brought to disk while it grows. What the disk says is thrown with the next bytes, or at the end. */
function synced(file: number, step: number) {
  let size = 0;
  let unsynced = 0;
  let error: Error | undefined;
  let running: Promise<void> | undefined;
  const begin = () => {
    unsynced = 0;
    running = new Promise<void>((resolve) => {
      fdatasync(file, (trouble) => {
        error ??= trouble ?? undefined;
        running = undefined;
        resolve();
      });
    });
    return running;
  };
  const write = (bytes: Uint8Array, from: number) => {
    if (error) throw error;
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, from + at);
  };
  return {
    get size() {
      return size;
    },
    append(bytes: Uint8Array) {
      write(bytes, size);
      size += bytes.length;
      unsynced += bytes.length;
      if (unsynced >= step && running === undefined) void begin();
    },
    overwrite: (bytes: Uint8Array) => write(bytes, 0),
    /** Nothing of it is under way any more. */
    settled: async () => running,
    async sync() {
      await begin();
      if (error) throw error;
    },
  };
}

function remove(file: number, path: string): void {
  closeSync(file);
  try {
    unlinkSync(path);
  } catch {
    // The next start removes it.
  }
}

function say(message: FromWorker): void {
  port.postMessage(message);
}
