import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import type { CarPlaces, CidProfile } from '../../../core/ports/packer.ts';
import { packFile } from './pack-file.ts';

/** The thread that packs one file for IPFS. The main thread removes the file that it wrote. */
export type ToWorker =
  /** `path`: where the CAR is written; nothing may be there. */
  | { readonly begin: { readonly path: string; readonly profile: CidProfile } }
  | { readonly bytes: Uint8Array }
  | { readonly end: true }
  /** Close the file: the CAR is not wanted any more. */
  | { readonly drop: true };

export type FromWorker =
  /** So many bytes of one message were packed. */
  | { readonly taken: number }
  | { readonly done: Packed }
  | { readonly failed: { readonly message: string; readonly code: string } };

/** A CAR that is on disk. */
export interface Packed {
  /** Of the file. */
  readonly cid: string;
  /** The same as CIDv1 in base32. */
  readonly name: string;
  /** Bytes of the CAR. */
  readonly size: number;
  readonly places: CarPlaces;
}

/** Written bytes after which they are synced, so that the sync at the end does not take long. */
const syncStep = 32 * 1_048_576;

const port = globalThis as unknown as Worker;
const queue: Uint8Array[] = [];
let isEnded = false;
let isDropped = false;
let wake = () => {};

port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if ('begin' in data) return void pack(data.begin);
  if ('bytes' in data) queue.push(data.bytes);
  else if ('end' in data) isEnded = true;
  else isDropped = true;
  wake();
};

async function pack({ path, profile }: { path: string; profile: CidProfile }): Promise<void> {
  let file: number | undefined;
  try {
    file = openSync(path, 'wx', 0o600);
    const car = carFile(file);
    const packed = await packFile(pieces(), { profile, sink: car });
    fdatasyncSync(file);
    say({ done: { ...packed, size: car.size } });
  } catch (error) {
    const { message, code = '' } = error as NodeJS.ErrnoException;
    say({ failed: { message, code } });
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

async function* pieces(): AsyncGenerator<Uint8Array> {
  for (;;) {
    if (isDropped) throw new Error('the CAR is not wanted any more');
    const piece = queue.shift();
    if (piece !== undefined) {
      yield piece;
      say({ taken: piece.byteLength });
    } else if (isEnded) return;
    else
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  }
}

function carFile(file: number) {
  let size = 0;
  let unsynced = 0;
  const write = (bytes: Uint8Array, from: number) => {
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
      if (unsynced < syncStep) return;
      unsynced = 0;
      fdatasyncSync(file);
    },
    overwrite: (bytes: Uint8Array) => write(bytes, 0),
  };
}

function say(message: FromWorker): void {
  port.postMessage(message);
}
