import { Fault } from '../../../core/base/fault.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { ReceiveOptions } from '../../../core/ports/intake.ts';
import type { Claim, Room } from './room.ts';
import type { FileEvents, Writer } from './writer.ts';

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
  /** Runs it as one of those that the stop of the program ends. */
  run(receiving: Receiving, body: ReadableStream<Uint8Array> | null): Promise<number>;
}

/** Where the bytes of a body go. */
interface Target {
  readonly path: string;
  /** Of a partial file; `marked` is called with how many of its bytes are on disk for certain. */
  readonly mark?: string;
  marked?(bytes: number): void;
  /** Bytes that are there before the body. */
  readonly base: number;
  /** Bytes that the body may have, and the fault when it has more. */
  readonly most: number;
  tooMuch(): Fault;
}

/** One body, from its first piece to its last. */
export class Receiving {
  readonly #shared: Shared;
  readonly #options: Omit<ReceiveOptions, 'most'>;
  readonly #to: Target;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  /** What ended it before its end. */
  #broken: { readonly reason: unknown } | undefined;
  /** Nothing more is written. */
  readonly #ended = Promise.withResolvers<void>();
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
  /** Since its rate was last checked: ms spent on waiting for the sender, bytes. What this server takes itself does not count. */
  #waited = 0;
  #came = 0;

  constructor(to: Target, options: { shared: Shared; given: Omit<ReceiveOptions, 'most'> }) {
    this.#to = to;
    this.#shared = options.shared;
    this.#options = options.given;
    this.#heardAt = this.#shared.clock.now();
  }

  /** Ends whatever it waits for. The first reason counts. */
  end(reason: unknown): void {
    if (this.#broken) return;
    this.#broken = { reason };
    this.#reader?.cancel().catch(() => {});
    this.#wake();
  }

  #throwIfBroken(): void {
    if (this.#broken) throw this.#broken.reason;
  }

  /** Its room is there for others. */
  release(): void {
    this.#claim?.release();
  }

  /** To its end, and on disk: how many bytes it had. Afterwards nothing more is written, also when it throws. */
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
    // What came is kept of a partial file.
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
      // What we did before took our time, not his.
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
      // What lies ready is read without a turn for anybody else.
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

export function tooLarge(most: number): Fault {
  const message = `The file is larger than ${most} bytes, which is the most that is taken.`;
  return new Fault('intake.too_large', { status: 413, message });
}

/** The sender's connection ended. */
function cutOff(cause: unknown): never {
  throw new Fault('intake.broken', { status: 400, message: 'The body ended before it was complete.', cause });
}

function silent(limit: number): Fault {
  return new Fault('intake.silent', { status: 408, message: `Nothing was sent for ${limit / 1000} s.` });
}
