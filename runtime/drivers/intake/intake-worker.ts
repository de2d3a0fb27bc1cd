import { closeSync, createReadStream, fdatasync, openSync, statSync, truncateSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { FileHash } from '../../base/file-hash.ts';
import { type FromWorker, markText, type Opening, type ToWorker } from './protocol.ts';

/** Bytes read at a time for hashing. */
const readSize = 262_144;

/** The thread that writes and hashes received files. */
const port = globalThis as unknown as Worker;
const files = new Map<number, OpenFile>();
/** By path, for files that are not complete yet. Bytes that a former process wrote are read again at the end. */
const hashings = new Map<string, FileHash>();
const toDisk = promisify(fdatasync);

port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  const { id } = data;
  if ('forget' in data) hashings.delete(data.forget);
  else if ('hash' in data) void hash(id, data.hash);
  else if ('end' in data) void end(id);
  else if ('bytes' in data) files.get(id)?.write(data.bytes);
  else begin(id, data.begin);
};

/** A file while one body is written to it. After an error nothing more is written. */
class OpenFile {
  readonly #id: number;
  readonly #opening: Opening;
  readonly #file: number;
  readonly #mark: number | undefined;
  readonly #hashing: FileHash;
  #written: number;
  #unsynced = 0;
  #syncing: Promise<void> | undefined;
  #hasFailed = false;

  constructor(id: number, opening: Opening) {
    const { path, mark, at } = opening;
    this.#id = id;
    this.#opening = opening;
    this.#written = at;
    if (mark !== undefined) {
      if (statSync(path).size < at) throw new Error(`${path} is shorter than it was`);
      truncateSync(path, at);
      this.#mark = openSync(mark, 'r+');
    }
    this.#file = openSync(path, mark === undefined ? 'wx' : 'r+', 0o600);
    const known = hashings.get(path);
    this.#hashing = known?.size === at ? known : new FileHash();
    hashings.set(path, this.#hashing);
  }

  write(bytes: Uint8Array): void {
    if (this.#hasFailed) return;
    try {
      for (let at = 0; at < bytes.length; )
        at += writeSync(this.#file, bytes, at, bytes.length - at, this.#written + at);
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (this.#hashing.size === this.#written) this.#hashing.update(bytes);
    this.#written += bytes.length;
    this.#unsynced += bytes.length;
    say({ id: this.#id, written: bytes.length });
    if (this.#unsynced < this.#opening.sync || this.#syncing) return;
    this.#syncing = this.#sync().finally(() => {
      this.#syncing = undefined;
    });
  }

  /** Resolves when everything written is on disk and marked. */
  async end(): Promise<void> {
    await this.#syncing;
    if (!this.#hasFailed) await this.#sync();
    for (const file of [this.#file, this.#mark]) {
      try {
        if (file !== undefined) closeSync(file);
      } catch (error) {
        // Network disks and quotas report a failed write here.
        if (!this.#hasFailed) this.#fail(error);
      }
    }
  }

  /** Never rejects. */
  async #sync(): Promise<void> {
    const marked = this.#written;
    this.#unsynced = 0;
    try {
      await toDisk(this.#file);
      if (this.#mark === undefined) return;
      // After the sync, so that marked bytes are on disk.
      writeSync(this.#mark, markText(marked), 0);
      await toDisk(this.#mark);
      say({ id: this.#id, marked });
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#hasFailed = true;
    hashings.delete(this.#opening.path);
    fail(this.#id, error);
  }
}

function begin(id: number, opening: Opening): void {
  try {
    files.set(id, new OpenFile(id, opening));
  } catch (error) {
    fail(id, error);
  }
}

async function end(id: number): Promise<void> {
  await files.get(id)?.end();
  files.delete(id);
  say({ id, ended: true });
}

async function hash(id: number, { path, size }: { path: string; size: number }): Promise<void> {
  const hashing = hashings.get(path) ?? new FileHash();
  hashings.delete(path);
  try {
    const start = hashing.size;
    if (start < size)
      for await (const bytes of createReadStream(path, { start, end: size - 1, highWaterMark: readSize }))
        hashing.update(bytes);
    if (hashing.size < size) throw new Error(`${path} is shorter than it was`);
    say({ id, hashes: hashing.digest() });
  } catch (error) {
    fail(id, error);
  }
}

function fail(id: number, error: unknown): void {
  const { message, code = '' } = error as NodeJS.ErrnoException;
  say({ id, failed: { message, code } });
}

function say(message: FromWorker): void {
  port.postMessage(message);
}
