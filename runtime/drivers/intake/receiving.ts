import { Fault } from '../../../core/base/fault.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { ReceiveOptions } from '../../../core/ports/intake.ts';
import type { Claim, Room } from './room.ts';
import type { FileEvents, Writer } from './writer.ts';

/** Bytes and ms. */
export const intakeLimits = {
  /** Received bytes of one file that are not written yet. Above it the file is not read, so the sender is as slow as the disk. */
  perFile: 2 * 1_048_576,
  /** The same for all files. Above it each file reads one chunk at a time. */
  inMemory: 24 * 1_048_576,
  /** Chunks of one file that are read before others get their turn. */
  turn: 4096,
  /** Bytes between two syncs, so that the last sync is short. */
  sync: 32 * 1_048_576,
  /** Bytes of one file between two checks of the disk. A file of unknown length reserves room in such steps. */
  look: 16 * 1_048_576,
};
/** Small chunks of one file are joined up to this size. */
const gather = 65_536;
/** Longest time without a byte from the sender, ms. */
const longestSilence = 30_000;

/** What all files that are being received share. */
export interface Shared {
  readonly writer: Writer;
  readonly clock: Clock;
  readonly limits: Readonly<typeof intakeLimits>;
  /** Bytes of all files that are not written yet. */
  unwritten: number;
  readonly room: Room;
  /** Runs it so that the stop of the program can end it. */
  run(receiving: Receiving, body: ReadableStream<Uint8Array> | null): Promise<number>;
}

/** The destination of a body. */
interface Target {
  readonly path: string;
  /** For a partial file. `marked` is called with the number of bytes that are certainly on disk. */
  readonly mark?: string;
  marked?(bytes: number): void;
  /** Bytes of the file before the body. */
  readonly base: number;
  /** Bytes at the beginning of the body that are dropped. Default: none. */
  readonly skip?: number;
  /** Most bytes of the rest of the body, and the fault for more. */
  readonly most: number;
  tooMuch(): Fault;
}

/** One body, from its first chunk to its last. */
export class Receiving {
  readonly #shared: Shared;
  readonly #options: Omit<ReceiveOptions, 'most'>;
  readonly #to: Target;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  /** Why it was ended early. */
  #broken: { readonly reason: unknown } | undefined;
  /** Resolves when nothing more is written. */
  readonly #ended = Promise.withResolvers<void>();
  #id: number | undefined;
  #size = 0;
  /** Bytes of the body that are to be dropped. */
  #toSkip: number;
  #written = 0;
  /** Bytes that it has reserved room for. */
  #allowed = 0;
  #claim: Claim | undefined;
  #unwritten = 0;
  /** Bytes that were not sent to the thread yet. */
  #gathering: Uint8Array | undefined;
  #gathered = 0;
  #wake = () => {};
  #isReading = false;
  #heardAt: number;
  #cancelWatch = () => {};
  /** Since the speed was last checked: ms of waiting for the sender, and bytes. Time that this server needs does not count. */
  #waited = 0;
  #came = 0;

  constructor(to: Target, options: { shared: Shared; given: Omit<ReceiveOptions, 'most'> }) {
    this.#to = to;
    this.#shared = options.shared;
    this.#options = options.given;
    this.#toSkip = to.skip ?? 0;
    this.#heardAt = this.#shared.clock.now();
  }

  /** Ends it, whatever it waits for. The first reason counts. */
  end(reason: unknown): void {
    if (this.#broken) return;
    this.#broken = { reason };
    this.#reader?.cancel().catch(() => {});
    this.#wake();
  }

  #throwIfBroken(): void {
    if (this.#broken) throw this.#broken.reason;
  }

  /** Gives its room back. */
  release(): void {
    this.#claim?.release();
  }

  /** Reads the body to its end and syncs it. Returns its length. Afterwards nothing more is written, also if it throws. */
  async run(body: ReadableStream<Uint8Array> | null): Promise<number> {
    const { signal } = this.#options;
    const { writer, room, limits } = this.#shared;
    const { path, mark, base: at } = this.#to;
    const abort = () => this.end(signal.reason);
    signal.addEventListener('abort', abort);
    this.#reader = body?.getReader();
    try {
      this.#allowed = this.#ahead();
      this.#claim = await room.claim(this.#allowed, { before: at });
      this.#id = writer.begin({ path, mark, at, sync: limits.sync }, this.#events());
      this.#watch();
      this.#throwIfBroken();
      if (this.#reader) await this.#read(this.#reader);
      this.#allow(this.#size);
    } catch (error) {
      this.end(error);
    }
    // The received bytes of a partial file are kept.
    if (this.#id !== undefined) {
      this.#flush();
      writer.end(this.#id);
      await this.#ended.promise;
    }
    this.#shared.unwritten -= this.#unwritten;
    this.#cancelWatch();
    signal.removeEventListener('abort', abort);
    this.#throwIfBroken();
    return this.#size;
  }

  async #read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    const { clock, limits } = this.#shared;
    let lookedAt = 0;
    let pieces = 0;
    for (;;) {
      const before = clock.now();
      // Time spent on writing is not the silence of the sender.
      this.#heardAt = before;
      this.#isReading = true;
      const { done, value } = await reader.read().catch(cutOff);
      this.#isReading = false;
      this.#throwIfBroken();
      this.#heardAt = clock.now();
      if (done) return;
      this.#take(value);
      this.#checkPace(value.byteLength, this.#heardAt - before);
      pieces += 1;
      // Chunks that are ready are read without giving others a turn.
      if (pieces % limits.turn === 0) await new Promise<void>((resolve) => setImmediate(resolve));
      if (this.#isFull()) this.#flush();
      while (this.#isFull()) {
        await this.#writing();
        this.#throwIfBroken();
      }
      if (this.#size <= this.#allowed && this.#size - lookedAt < limits.look) continue;
      lookedAt = this.#size;
      await this.#look();
    }
  }

  /** The length to reserve room for: the expected length, or one more step. */
  #ahead(): number {
    const { expected = 0 } = this.#options;
    const isSaid = expected > 0 && expected >= this.#size;
    return isSaid ? expected : Math.min(this.#to.most, this.#size + this.#shared.limits.look);
  }

  async #look(): Promise<void> {
    const wanted = this.#ahead();
    const claim = this.#claim as Claim;
    await this.#shared.room.extend(claim, {
      toWrite: wanted - this.#written,
      size: this.#to.base + wanted,
    });
    this.#allow(wanted);
  }

  /** Sets for how many bytes it has room. */
  #allow(bytes: number): void {
    this.#allowed = bytes;
    if (!this.#claim) return;
    this.#claim.size = this.#to.base + bytes;
    this.#claim.toWrite = Math.max(0, bytes - this.#written);
  }

  #take(came: Uint8Array): void {
    const { onBytes } = this.#options;
    const skipped = Math.min(this.#toSkip, came.byteLength);
    this.#toSkip -= skipped;
    const piece = skipped > 0 ? came.subarray(skipped) : came;
    const { byteLength: length } = piece;
    if (length === 0) return;
    if (this.#size + length > this.#to.most) throw this.#to.tooMuch();
    this.#size += length;
    this.#unwritten += length;
    this.#shared.unwritten += length;
    this.#pass(piece);
    onBytes?.(this.#size);
  }

  /** Joins small chunks: a message to the thread is expensive, and the sender chooses the size of its chunks. */
  #pass(piece: Uint8Array): void {
    if (this.#gathered + piece.byteLength > gather) this.#flush();
    if (piece.byteLength * 2 > gather) {
      this.#flush();
      this.#shared.writer.write(this.#id as number, piece);
      return;
    }
    if (!this.#gathering) {
      this.#gathering = new Uint8Array(gather);
      // Chunks of one turn are sent together; nothing waits for chunks that may never come.
      setImmediate(() => this.#flush());
    }
    this.#gathering.set(piece, this.#gathered);
    this.#gathered += piece.byteLength;
  }

  #flush(): void {
    const bytes = this.#gathering?.subarray(0, this.#gathered);
    this.#gathering = undefined;
    this.#gathered = 0;
    if (bytes?.byteLength) this.#shared.writer.write(this.#id as number, bytes);
  }

  #isFull(): boolean {
    const { unwritten, limits } = this.#shared;
    return this.#unwritten > limits.perFile || (unwritten > limits.inMemory && this.#unwritten > 0);
  }

  #writing(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #events(): FileEvents {
    return {
      written: (bytes) => {
        this.#unwritten -= bytes;
        this.#shared.unwritten -= bytes;
        this.#written += bytes;
        this.#allow(this.#allowed);
        this.#wake();
      },
      marked: (bytes) => this.#to.marked?.(bytes),
      failed: (error) => this.end(error),
      ended: this.#ended.resolve,
    };
  }

  /** Fault `intake.slow`. */
  #checkPace(bytes: number, waited: number): void {
    const { least } = this.#options;
    this.#waited += waited;
    this.#came += bytes;
    if (!least || this.#waited < least.window) return;
    if (this.#came * 1000 < least.rate * this.#waited) {
      const message = `The file comes too slowly: ${this.#came} bytes in ${Math.round(this.#waited / 1000)} s; at least ${least.rate} bytes a second are wanted.`;
      throw new Fault('intake.slow', { status: 408, message });
    }
    this.#waited = 0;
    this.#came = 0;
  }

  #watch(): void {
    const { clock } = this.#shared;
    const { silence = longestSilence } = this.#options;
    // If the clock was set back, the silence would last longer.
    this.#heardAt = Math.min(this.#heardAt, clock.now());
    this.#cancelWatch = clock.at(this.#heardAt + silence, () => {
      const now = clock.now();
      // While nothing is read, the sender cannot be silent.
      if (!this.#isReading) this.#heardAt = now;
      if (now - this.#heardAt >= silence) this.end(silent(silence));
      else this.#watch();
    });
  }
}

export function tooLarge(most: number): Fault {
  const message = `The file is larger than ${most} bytes, which is the most that is taken.`;
  return new Fault('intake.too_large', { status: 413, message });
}

/** The connection of the sender ended. */
function cutOff(cause: unknown): never {
  throw new Fault('intake.broken', { status: 400, message: 'The body ended before it was complete.', cause });
}

function silent(limit: number): Fault {
  return new Fault('intake.silent', { status: 408, message: `Nothing was sent for ${limit / 1000} s.` });
}
