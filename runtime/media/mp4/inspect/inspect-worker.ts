import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { type Inspected, inspectFile } from './inspect-file.ts';
import { inspectionLimits } from './limits.ts';
import type { Begin, FromWorker, ToWorker } from './protocol.ts';
import type { ReadableFile } from './window.ts';

/** The thread that inspects files. */
interface Running {
  /** Takes what was read; undefined: nothing is asked for. */
  take?: (bytes: Uint8Array) => void;
  isStopped: boolean;
}

const port = globalThis as unknown as Worker;
const running = new Map<number, Running>();

port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  const one = running.get(data.id);
  if ('begin' in data) void run(data.id, data.begin);
  else if (one !== undefined && 'bytes' in data) one.take?.(data.bytes);
  else if (one !== undefined) {
    one.isStopped = true;
    // Whatever it waits for never comes.
    running.delete(data.id);
  }
};

async function run(id: number, begin: Begin): Promise<void> {
  const one: Running = { isStopped: false };
  running.set(id, one);
  try {
    const inspected = await ('path' in begin
      ? inspectPath(begin, one)
      : inspectFile({ size: begin.size, read: (from, to) => ask({ id, one, from, to }) }, begin));
    if (!one.isStopped) answer(id, inspected);
  } catch (error) {
    if (!one.isStopped) send({ id, failed: error instanceof Error ? error.message : String(error) });
  }
  running.delete(id);
}

function ask(options: { id: number; one: Running; from: number; to: number }): Promise<Uint8Array> {
  const { id, one, from, to } = options;
  send({ id, read: { from, to } });
  return new Promise((resolve) => {
    one.take = resolve;
  });
}

async function inspectPath(begin: Begin & { readonly path: string }, one: Running) {
  const file = openSync(begin.path, 'r');
  try {
    return await inspectFile(readable(file, one), begin);
  } finally {
    closeSync(file);
  }
}

function readable(file: number, one: Running): ReadableFile {
  let reads = 0;
  return {
    size: fstatSync(file).size,
    async read(from, to) {
      reads += 1;
      if (reads % inspectionLimits.readsAtOnce.value === 0) {
        send({ alive: true });
        await new Promise<void>((resolve) => setImmediate(resolve));
        if (one.isStopped) throw new Error('nobody waits for it any more');
      }
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

/** What was made for playback is handed over, not copied. */
function answer(id: number, inspected: Inspected): void {
  const { hls, head } = inspected.playback ?? {};
  const { inspection } = inspected;
  const front = inspection.ok ? undefined : inspection.foreign?.front;
  const parts = [
    ...(hls ? [hls.index, ...hls.heads] : []),
    ...[head, front].flatMap((one) => one?.parts ?? []),
  ];
  const message: FromWorker = { id, ...inspected };
  port.postMessage(
    message,
    parts.map(({ buffer }) => buffer),
  );
}

function send(message: FromWorker): void {
  port.postMessage(message);
}
