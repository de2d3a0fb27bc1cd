/** The thread that inspects one file, and ends with it. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { ReadableFile } from './file.ts';
import { type Inspected, inspectFile } from './inspect-file.ts';

export type ToWorker =
  | { readonly begin: Begin }
  /** The bytes it asked for. */
  | { readonly bytes: Uint8Array };

export type FromWorker =
  | { readonly read: { readonly from: number; readonly to: number } }
  | Inspected
  /** The file cannot be read, or there is a bug. */
  | { readonly failed: string }
  /** It is at work. */
  | { readonly alive: true };

type Begin = { readonly isPlayed: boolean; readonly isConverted: boolean } & (
  | { readonly path: string }
  | { readonly size: number }
);

/** Local reads between two signs of life. */
const readsPerSign = 256;

const port = globalThis as unknown as Worker;
let take = (_: Uint8Array) => {};

port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if ('begin' in data) void run(data.begin);
  else take(data.bytes);
};

async function run(begin: Begin): Promise<void> {
  try {
    answer(
      await ('path' in begin ? inspectPath(begin) : inspectFile({ size: begin.size, read: ask }, begin)),
    );
  } catch (error) {
    send({ failed: error instanceof Error ? error.message : String(error) });
  }
}

/** The other thread reads for us. */
function ask(from: number, to: number): Promise<Uint8Array> {
  send({ read: { from, to } });
  return new Promise((resolve) => {
    take = resolve;
  });
}

async function inspectPath(begin: Begin & { readonly path: string }): Promise<Inspected> {
  const file = openSync(begin.path, 'r');
  try {
    return await inspectFile(readable(file), begin);
  } finally {
    closeSync(file);
  }
}

function readable(file: number): ReadableFile {
  let reads = 0;
  return {
    size: fstatSync(file).size,
    async read(from, to) {
      reads += 1;
      if (reads % readsPerSign === 0) send({ alive: true });
      const bytes = new Uint8Array(to - from);
      let filled = 0;
      while (filled < bytes.length) {
        const count = readSync(file, bytes, filled, bytes.length - filled, from + filled);
        if (count === 0) throw new Error('the file became shorter while it was read');
        filled += count;
      }
      return bytes;
    },
  };
}

/** Moves what was made for playback to the other thread instead of copying it. */
function answer(inspected: Inspected): void {
  const { hls, head } = inspected.playback ?? {};
  const { inspection } = inspected;
  const front = inspection.ok ? undefined : inspection.foreign?.front;
  const parts = [
    ...(hls ? [hls.index, ...hls.heads] : []),
    ...[head, front].flatMap((one) => one?.parts ?? []),
  ];
  port.postMessage(
    inspected,
    parts.map(({ buffer }) => buffer),
  );
}

function send(message: FromWorker): void {
  port.postMessage(message);
}
