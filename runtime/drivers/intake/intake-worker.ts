import { GrowingFile } from './growing-file.ts';
import type { FromWorker, ToWorker } from './protocol.ts';

/** The thread that writes and hashes what is sent. */
const port = globalThis as unknown as Worker;
const growing = new Map<number, GrowingFile>();

port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  const { id } = data;
  if ('begin' in data) return attempt(id, () => begin(id, data.begin));
  if ('open' in data) return attempt(id, () => begin(id, data.open));
  const one = growing.get(id);
  if (one === undefined) {
    // It could not be begun, or has failed, which was told.
    if ('drop' in data || 'close' in data) say({ id, dropped: true });
    return;
  }
  if ('bytes' in data) return attempt(id, () => write(id, { one, bytes: data.bytes }));
  if ('resume' in data) return attempt(id, () => one.resume());
  if ('pause' in data) return void eventually(id, () => pause(id, one));
  if ('hash' in data) return void eventually(id, () => hash(id, one));
  if ('end' in data) return void eventually(id, () => finish(id, one));
  growing.delete(id);
  void ('drop' in data ? one.drop() : one.close()).finally(() => say({ id, dropped: true }));
};

function begin(id: number, options: ConstructorParameters<typeof GrowingFile>[0]): void {
  growing.set(id, new GrowingFile(options, (marked) => say({ id, marked })));
}

function write(id: number, { one, bytes }: { one: GrowingFile; bytes: Uint8Array }): void {
  one.write(bytes);
  say({ id, written: bytes.length });
}

async function pause(id: number, one: GrowingFile): Promise<void> {
  await one.synced();
  say({ id, paused: true });
  await one.rest();
}

async function hash(id: number, one: GrowingFile): Promise<void> {
  const done = await one.hashes();
  await one.rest();
  say({ id, done });
}

async function finish(id: number, one: GrowingFile): Promise<void> {
  await one.synced();
  if (growing.get(id) !== one) return;
  const done = await one.hashes();
  growing.delete(id);
  await one.close();
  say({ id, done });
}

function attempt(id: number, work: () => void): void {
  try {
    work();
  } catch (error) {
    fail(id, error as Error);
  }
}

async function eventually(id: number, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    fail(id, error as Error);
  }
}

function fail(id: number, error: Error): void {
  const one = growing.get(id);
  if (one) one.error ??= error;
  say({ id, failed: { message: error.message, code: (error as NodeJS.ErrnoException).code ?? '' } });
}

function say(message: FromWorker): void {
  port.postMessage(message);
}
