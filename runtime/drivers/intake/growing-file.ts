import { createHash } from 'node:crypto';
import {
  closeSync,
  fdatasync,
  fstatSync,
  ftruncateSync,
  openSync,
  read,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { markText } from './mark.ts';
import type { Hashes, Opening } from './protocol.ts';

/**
 * A file that the writing thread writes. Its hashes run along with what is written; where a former process wrote the beginning
 * they trail: that is read again, a piece at a time, while the rest comes.
 */
export class GrowingFile {
  readonly path: string;
  /** What went wrong; nothing more is written. */
  error: Error | undefined;
  readonly #options: GrowingOptions;
  readonly #onMark: (bytes: number) => void;
  readonly #md5 = createHash('md5');
  readonly #sha256 = createHash('sha256');
  #file: number | undefined;
  #markFile: number | undefined;
  #written: number;
  #hashed = 0;
  #unsynced = 0;
  #syncing: Promise<void> | undefined;
  #trailing: Promise<void> | undefined;
  #isResting = false;
  #isClosed = false;
  #digests: Hashes | undefined;

  /** With `at` it is a partial file, otherwise a new one. */
  constructor(options: GrowingOptions, onMark: (bytes: number) => void) {
    this.path = options.path;
    this.#options = options;
    this.#onMark = onMark;
    this.#written = options.at ?? 0;
    if (options.mark === undefined) this.#file = openSync(this.path, 'wx', 0o600);
    else {
      this.resume();
      if (fstatSync(this.#open).size < this.#written) throw new Error(`${this.path} is shorter than it was`);
      ftruncateSync(this.#open, this.#written);
    }
    this.#trail();
  }

  write(bytes: Uint8Array): void {
    if (this.error) throw this.error;
    for (let at = 0; at < bytes.length; )
      at += writeSync(this.#open, bytes, at, bytes.length - at, this.#written + at);
    // Where the hashes trail, it is read again like what is before it.
    if (this.#hashed === this.#written) this.#hash(bytes);
    this.#written += bytes.length;
    this.#unsynced += bytes.length;
    if (this.#unsynced < this.#options.sync || this.#syncing) return;
    void this.#startSync();
  }

  /** All that was written is on disk now, and marked. */
  async synced(): Promise<void> {
    await this.#syncing;
    await this.#startSync();
    if (this.error) throw this.error;
  }

  async hashes(): Promise<Hashes> {
    await this.#trailing;
    if (this.error) throw this.error;
    this.#digests ??= { md5: this.#md5.digest('hex'), sha256: this.#sha256.digest('hex') };
    return this.#digests;
  }

  /** After `rest`. */
  resume(): void {
    this.#isResting = false;
    this.#file ??= openSync(this.path, 'r+');
    this.#markFile ??= openSync(this.#options.mark as string, 'r+');
  }

  /** Nothing is written for now: it takes no file descriptor as soon as its hashes are there. */
  async rest(): Promise<void> {
    this.#isResting = true;
    await this.#trailing;
    if (this.#isResting) this.#release();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#syncing;
    await this.#trailing;
    this.#release();
  }

  /** Closes and removes it. */
  async drop(): Promise<void> {
    await this.close();
    try {
      unlinkSync(this.path);
    } catch {
      // The next start removes it.
    }
  }

  get #open(): number {
    return this.#file as number;
  }

  #hash(bytes: Uint8Array): void {
    this.#md5.update(bytes);
    this.#sha256.update(bytes);
    this.#hashed += bytes.length;
  }

  #startSync(): Promise<void> {
    this.#unsynced = 0;
    this.#syncing = this.#sync().finally(() => {
      this.#syncing = undefined;
    });
    return this.#syncing;
  }

  /** Never rejects: what the disk says is told with the next piece, or at the end. */
  async #sync(): Promise<void> {
    const bytes = this.#written;
    try {
      await onDisk(this.#open);
      if (this.#markFile === undefined) return;
      // Behind the sync: what is marked is there.
      writeSync(this.#markFile, markText(bytes), 0);
      await onDisk(this.#markFile);
      this.#onMark(bytes);
    } catch (error) {
      this.error ??= error as Error;
    }
  }

  #trail(): void {
    if (this.#hashed === this.#written) return;
    this.#trailing = this.#catchUp().finally(() => {
      this.#trailing = undefined;
    });
  }

  async #catchUp(): Promise<void> {
    const buffer = Buffer.allocUnsafe(this.#options.rehash ?? 1);
    while (this.#hashed < this.#written && !this.#isClosed && !this.error) {
      const wanted = Math.min(buffer.length, this.#written - this.#hashed);
      try {
        const count = await piece(this.#open, { buffer, wanted, from: this.#hashed });
        if (count === 0) throw new Error(`${this.path} is shorter than it was`);
        this.#hash(buffer.subarray(0, count));
      } catch (error) {
        this.error ??= error as Error;
      }
    }
  }

  #release(): void {
    for (const file of [this.#file, this.#markFile]) if (file !== undefined) closeSync(file);
    this.#file = undefined;
    this.#markFile = undefined;
  }
}

type GrowingOptions = Partial<Opening> & Pick<Opening, 'path' | 'sync'>;

function onDisk(file: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fdatasync(file, (error) => (error ? reject(error) : resolve()));
  });
}

/** By the threads for files: whoever else is written for has his turn meanwhile. */
function piece(
  file: number,
  { buffer, wanted, from }: { buffer: Buffer; wanted: number; from: number },
): Promise<number> {
  return new Promise((resolve, reject) => {
    read(file, buffer, 0, wanted, from, (error, count) => (error ? reject(error) : resolve(count)));
  });
}
