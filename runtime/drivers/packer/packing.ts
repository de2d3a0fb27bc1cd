import { Fault } from '../../../core/base/fault.ts';
import type { Blobs } from '../../../core/ports/blobs.ts';
import type { PackOptions, PackSource } from '../../../core/ports/packer.ts';
import { Interruption } from '../intake/interruption.ts';
import type { PackingThread } from './packing-thread.ts';
import type { Packed } from './protocol.ts';

/** What all files that are packed at one time share. */
export interface Shared {
  readonly thread: PackingThread;
  readonly blobs: Blobs;
  readonly limits: { readonly perFile: number; readonly sync: number; readonly look: number };
  /** Throws when there is no room. */
  checkRoom(): Promise<void>;
}

/** One file, from its first piece to the CAR on disk. */
export class Packing {
  /** Bytes that the CAR is going to grow by, about. */
  promised: number;
  readonly #shared: Shared;
  readonly #source: PackSource;
  readonly #options: Given;
  readonly #interruption = new Interruption();
  readonly #done = Promise.withResolvers<Packed>();
  readonly #dropped = Promise.withResolvers<void>();
  #id: number | undefined;
  #untaken = 0;
  #taken = 0;
  #isEnded = false;
  #wake = () => {};

  constructor(source: PackSource, options: { shared: Shared; given: Given }) {
    this.#source = source;
    this.#shared = options.shared;
    this.#options = options.given;
    this.promised = sizeOf(source);
  }

  end(reason: unknown): void {
    this.#interruption.end(reason);
  }

  /** Packs it to this path, where there must be nothing. After a throw nobody writes there any more. */
  async run(path: string): Promise<Packed> {
    const { signal, profile } = this.#options;
    const { thread, limits } = this.#shared;
    const abort = () => this.end(signal.reason);
    signal.addEventListener('abort', abort);
    let reader: Reader | undefined;
    try {
      await this.#shared.checkRoom();
      reader = await this.#open();
      this.#id = thread.begin({ path, profile, sync: limits.sync }, this.#ears());
      await this.#read(reader);
      thread.end(this.#id);
      this.#isEnded = true;
      return await this.#interruption.over(this.#done.promise);
    } catch (error) {
      reader?.cancel().catch(() => {});
      if (this.#id !== undefined) {
        thread.drop(this.#id);
        await this.#dropped.promise;
      }
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
      if (this.#id !== undefined) thread.forget(this.#id);
    }
  }

  async #open(): Promise<Reader> {
    const source = this.#source;
    // A copy: what the thread is given is gone here.
    if ('bytes' in source) return new Blob([new Uint8Array(source.bytes)]).stream().getReader();
    const { signal } = this.#options;
    const found = await this.#interruption.over(this.#shared.blobs.get(source.key, { signal }));
    if (found.outcome === 'ok' && found.blob.size === source.size) return found.body.getReader();
    if (found.outcome === 'ok') found.body.cancel().catch(() => {});
    throw new Fault('packing.changed', {
      status: 409,
      message: 'The file was replaced or deleted while it was about to be packed for IPFS.',
    });
  }

  async #read(reader: Reader): Promise<void> {
    const { thread, limits } = this.#shared;
    let read = 0;
    let lookedAt = 0;
    for (;;) {
      const { done, value } = await this.#interruption.over(reader.read());
      if (done) return;
      if (value.byteLength === 0) continue;
      read += value.byteLength;
      this.#untaken += value.byteLength;
      this.promised = Math.max(0, sizeOf(this.#source) - read);
      thread.write(this.#id as number, value);
      while (this.#untaken > limits.perFile) await this.#interruption.over(this.#room());
      if (read - lookedAt < limits.look) continue;
      lookedAt = read;
      await this.#shared.checkRoom();
    }
  }

  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #ears() {
    return {
      taken: (bytes: number) => {
        this.#untaken -= bytes;
        this.#taken += bytes;
        this.#options.progress?.(this.#taken / sizeOf(this.#source));
        this.#wake();
      },
      done: this.#done.resolve,
      dropped: this.#dropped.resolve,
      failed: (error: Fault) => {
        this.end(error);
        this.#dropped.resolve();
      },
      isOwed: () => this.#untaken > 0 || this.#isEnded,
    };
  }
}

type Given = Pick<PackOptions, 'profile' | 'signal' | 'progress'>;
type Reader = ReadableStreamDefaultReader<Uint8Array>;

function sizeOf(source: PackSource): number {
  return 'bytes' in source ? source.bytes.byteLength : source.size;
}
