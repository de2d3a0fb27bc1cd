import { Fault } from '../../../core/base/fault.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Pace } from '../../../core/ports/intake.ts';
import type { Hashes } from './protocol.ts';
import type { Claim, Room } from './room.ts';
import type { FileEars, Writer } from './writer.ts';

/** Bytes and ms. */
export const intakeLimits = {
  /** What has come of one file and is not written yet; beyond, no more of it is read: the sender is as fast as the disk. */
  perFile: 2 * 1_048_576,
  /** The same of all files; beyond, each file gets one piece further at a time. */
  inMemory: 24 * 1_048_576,
  /** Pieces of one file that are read before others have their turn. */
  turn: 4096,
  /** Written bytes after which they are synced, so that the end does not take long. */
  sync: 32 * 1_048_576,
  /** Bytes of one file after which the free disk space is checked; a file of unknown length gets room in such steps. */
  look: 16 * 1_048_576,
  /** Bytes of a partial file that are read at a time to be hashed, where the process that received it is gone. */
  rehash: 262_144,
};
/** Small pieces of one file are written together up to so many bytes. */
const gather = 65_536;
/** How long a sender may send nothing, ms. */
const longestSilence = 30_000;

/** What all files that are received at one time share. */
export interface Shared {
  readonly writer: Writer;
  readonly clock: Clock;
  readonly limits: Readonly<typeof intakeLimits>;
  /** Bytes of all files that are not written yet. */
  unwritten: number;
  readonly room: Room;
}

/** Where the bytes of a body go. */
export interface Destination<T> {
  /** Bytes that are there before it. */
  readonly base: number;
  /** Bytes that it may have, and the fault when it has more. */
  readonly most: number;
  tooMuch(): Fault;
  begin(ears: FileEars): number;
  /** All has come. */
  end(id: number): void;
  /** It broke off. */
  breakOff(id: number): void;
  /** What is told at the end of all. */
  outcome(size: number, hashes: Hashes | undefined): T;
}

/** One body, from its first piece to its last. */
export class Receiving<T> {
  readonly #shared: Shared;
  readonly #options: ReceivingOptions;
  readonly #to: Destination<T>;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  /** What ended it. */
  #ended: { readonly reason: unknown } | undefined;
  readonly #done = Promise.withResolvers<Hashes | undefined>();
  /** Nobody writes any more. */
  readonly #stopped = Promise.withResolvers<void>();
  #id: number | undefined;
  #size = 0;
  #written = 0;
  /** Bytes for which it has room. */
  #allowed = 0;
  #claim: Claim | undefined;
  #unwritten = 0;
  /** What is not with the thread yet. */
  #gathering: Uint8Array | undefined;
  #gathered = 0;
  #wake = () => {};
  #isReading = false;
  #heardAt: number;
  #cancelWatch = () => {};

  constructor(to: Destination<T>, options: { shared: Shared; given: ReceivingOptions }) {
    this.#to = to;
    this.#shared = options.shared;
    this.#options = options.given;
    this.#heardAt = this.#shared.clock.now();
  }

  /** Ends whatever it waits for. The first reason counts. */
  end(reason: unknown): void {
    if (this.#ended) return;
    this.#ended = { reason };
    this.#reader?.cancel().catch(() => {});
    this.#wake();
    this.#done.reject(reason);
  }

  #throwIfEnded(): void {
    if (this.#ended) throw this.#ended.reason;
  }

  /** Its room is there for others. */
  release(): void {
    this.#claim?.release();
  }

  /** To its end, and on disk. After a throw nobody writes any more. */
  async run(body: ReadableStream<Uint8Array> | null): Promise<T> {
    const { signal } = this.#options;
    const { writer } = this.#shared;
    const abort = () => this.end(signal.reason);
    signal.addEventListener('abort', abort);
    this.#reader = body?.getReader();
    // Read at the end alone.
    this.#done.promise.catch(() => {});
    try {
      this.#allowed = this.#ahead();
      this.#claim = await this.#shared.room.claim(this.#allowed, { before: this.#to.base });
      this.#id = this.#to.begin(this.#ears());
      this.#watch();
      this.#throwIfEnded();
      if (this.#reader) await this.#read(this.#reader);
      this.#flush();
      this.#allow(this.#size);
      this.#to.end(this.#id);
      return this.#to.outcome(this.#size, await this.#done.promise);
    } catch (error) {
      this.#reader?.cancel().catch(() => {});
      if (this.#id !== undefined) {
        this.#flush();
        this.#to.breakOff(this.#id);
        await this.#stopped.promise;
      }
      throw error;
    } finally {
      this.#shared.unwritten -= this.#unwritten;
      this.#cancelWatch();
      signal.removeEventListener('abort', abort);
      if (this.#id !== undefined) writer.forget(this.#id);
    }
  }

  async #read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    const { clock, limits } = this.#shared;
    let lookedAt = 0;
    let pieces = 0;
    const pace = new SenderPace(this.#options.least);
    for (;;) {
      const before = clock.now();
      // What we did before took our time, not his.
      this.#heardAt = before;
      this.#isReading = true;
      const { done, value } = await reader.read().catch(cutOff);
      this.#isReading = false;
      this.#throwIfEnded();
      this.#heardAt = clock.now();
      if (done) return;
      this.#take(value);
      pace.note({ bytes: value.byteLength, waited: this.#heardAt - before });
      pieces += 1;
      // What lies ready is read without a turn for anybody else.
      if (pieces % limits.turn === 0) await new Promise<void>((resolve) => setImmediate(resolve));
      if (this.#isFull()) this.#flush();
      while (this.#isFull()) {
        await this.#writing();
        this.#throwIfEnded();
      }
      if (this.#size <= this.#allowed && this.#size - lookedAt < limits.look) continue;
      lookedAt = this.#size;
      await this.#look();
    }
  }

  /** How long it may become before it is looked again how much room there is: as long as it is said to be, or one step more. */
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

  /** It has room for so many bytes. */
  #allow(bytes: number): void {
    this.#allowed = bytes;
    if (!this.#claim) return;
    this.#claim.size = this.#to.base + bytes;
    this.#claim.toWrite = Math.max(0, bytes - this.#written);
  }

  #take(piece: Uint8Array): void {
    const { onBytes } = this.#options;
    const { byteLength: length } = piece;
    if (length === 0) return;
    if (this.#size + length > this.#to.most) throw this.#to.tooMuch();
    this.#size += length;
    this.#unwritten += length;
    this.#shared.unwritten += length;
    this.#pass(piece);
    onBytes?.(this.#size);
  }

  /** Small pieces go to the thread together: a message costs more than a byte, and a sender cuts a body as he likes. */
  #pass(piece: Uint8Array): void {
    if (this.#gathered + piece.byteLength > gather) this.#flush();
    if (piece.byteLength * 2 > gather) {
      this.#flush();
      this.#shared.writer.write(this.#id as number, piece);
      return;
    }
    if (!this.#gathering) {
      this.#gathering = new Uint8Array(gather);
      // What comes in one turn goes together; nothing waits for what may never come.
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

  #ears(): FileEars {
    return {
      written: (bytes) => {
        this.#unwritten -= bytes;
        this.#shared.unwritten -= bytes;
        this.#written += bytes;
        this.#allow(this.#allowed);
        this.#wake();
      },
      done: this.#done.resolve,
      dropped: this.#stopped.resolve,
      paused: () => {
        this.#done.resolve(undefined);
        this.#stopped.resolve();
      },
      failed: (error) => {
        this.end(error);
        this.#stopped.resolve();
      },
    };
  }

  #watch(): void {
    const { clock } = this.#shared;
    const { silence = longestSilence } = this.#options;
    // A clock that was set back would have the sender be silent for so much longer.
    this.#heardAt = Math.min(this.#heardAt, clock.now());
    this.#cancelWatch = clock.at(this.#heardAt + silence, () => {
      const now = clock.now();
      // Where we do not read, it is not his silence.
      if (!this.#isReading) this.#heardAt = now;
      if (now - this.#heardAt >= silence) this.end(silent(silence));
      else this.#watch();
    });
  }
}

/** Checks the rate of a sender by the time that was spent on waiting for it: what this server takes itself does not count. */
class SenderPace {
  readonly #least: Pace | undefined;
  /** Since it was last looked: ms, bytes. */
  #waited = 0;
  #came = 0;

  constructor(least: Pace | undefined) {
    this.#least = least;
  }

  /** A piece came. Throws Fault `intake.slow`. */
  note(piece: { readonly bytes: number; readonly waited: number }): void {
    if (!this.#least) return;
    const { rate, window } = this.#least;
    this.#waited += piece.waited;
    this.#came += piece.bytes;
    if (this.#waited < window) return;
    if (this.#came * 1000 < rate * this.#waited) throw tooSlow(this.#came, { waited: this.#waited, rate });
    this.#waited = 0;
    this.#came = 0;
  }
}

function tooSlow(bytes: number, { waited, rate }: { waited: number; rate: number }): Fault {
  const message = `The file comes too slowly: ${bytes} bytes in ${Math.round(waited / 1000)} s; at least ${rate} bytes a second are wanted.`;
  return new Fault('intake.slow', { status: 408, message });
}

export function tooLarge(most: number): Fault {
  const message = `The file is larger than ${most} bytes, which is the most that is taken.`;
  return new Fault('intake.too_large', { status: 413, message });
}

/** The sender's connection ended. */
function cutOff(): never {
  throw new Fault('intake.broken', { status: 400, message: 'The body ended before it was complete.' });
}

function silent(limit: number): Fault {
  return new Fault('intake.silent', { status: 408, message: `Nothing was sent for ${limit / 1000} s.` });
}

interface ReceivingOptions {
  readonly expected?: number;
  /** ms */
  readonly silence?: number;
  readonly least?: Pace;
  readonly signal: AbortSignal;
  /** Bytes of this body. */
  onBytes?(count: number): void;
}
