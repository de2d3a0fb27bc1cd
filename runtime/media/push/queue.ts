import type { BufferPool } from '../live/pool.ts';
import type { MemoryHold } from '../publish/memory-budget.ts';
import type { PushConnection } from './connection.ts';

/**
 * What waits for one server: whole messages in large buffers that are reused. Only whole pieces are dropped. A piece of which a
 * byte was handed over is written to its end, and nothing is added to it.
 */
export class PushQueue {
  /** Where to write the message for which room was reserved: at `out[at]`; then `at` is its end. */
  out: Uint8Array = NOTHING;
  at = 0;
  /** Bytes that wait. */
  bytes = 0;
  /** Bytes handed over since it was made. */
  sentBytes = 0;
  /** Pictures that were left out since it was made. */
  droppedFrames = 0;
  /** Media was handed over since `clear`. */
  hasSentMedia = false;
  readonly #pieces: Piece[] = [];
  readonly #options: QueueOptions;
  /** Bytes of all its buffers. */
  #held = 0;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  /** A piece is handed over in part: whatever else is written now would stand in the middle of a message. */
  get isHalfWritten(): boolean {
    return this.#pieces.length > 0 && this.#pieces[0].sent > 0;
  }

  /** Whether the last piece has room for `size` bytes more. */
  fits(size: number): boolean {
    const piece = this.#pieces.at(-1);
    return piece !== undefined && piece.sent === 0 && piece.length + size <= piece.bytes.length;
  }

  /**
   * Room for `size` bytes at `out[at]`. False: that is more than it may hold; nothing has changed then. `isEntry`: media may begin
   * with it after a gap, so it begins a piece.
   */
  reserve(size: number, isEntry: boolean): boolean {
    if (isEntry || !this.fits(size)) {
      const bytes = this.#take(Math.max(size, this.#options.pieceBytes));
      if (bytes === undefined) return false;
      this.#pieces.push({ bytes, length: 0, sent: 0, frames: 0, isEntry, isMedia: false });
    }
    const piece = this.#pieces[this.#pieces.length - 1];
    this.out = piece.bytes;
    this.at = piece.length;
    return true;
  }

  /** What was written up to `at` waits now. */
  commit(isPicture: boolean): void {
    const piece = this.#pieces[this.#pieces.length - 1];
    this.bytes += this.at - piece.length;
    piece.length = this.at;
    piece.isMedia = true;
    if (isPicture) piece.frames += 1;
  }

  /** Bytes before all messages, which are never left out. False: no room. */
  lead(bytes: Uint8Array): boolean {
    if (bytes.length === 0) return true;
    if (!this.reserve(bytes.length, true)) return false;
    this.out.set(bytes, this.at);
    const piece = this.#pieces[this.#pieces.length - 1];
    piece.length = bytes.length;
    this.bytes += bytes.length;
    return true;
  }

  /** Hands over what waits, as much as is taken. True: all of it. */
  flush(connection: PushConnection): boolean {
    for (;;) {
      const piece = this.#pieces[0];
      if (piece === undefined) return true;
      const rest = piece.length - piece.sent;
      const taken = connection.write(piece.bytes.subarray(piece.sent, piece.length));
      if (!(Number.isInteger(taken) && taken >= 0 && taken <= rest))
        throw new RangeError('a connection took more than it was given');
      piece.sent += taken;
      this.bytes -= taken;
      this.sentBytes += taken;
      if (taken < rest) return false;
      if (piece.isMedia) this.hasSentMedia = true;
      this.#pieces.shift();
      this.#give(piece);
    }
  }

  /**
   * Drops pieces that are not begun, up to the newest one that media may begin with; all of them when `isAll`, or when there is
   * no such piece. False: all were dropped.
   */
  drop(isAll: boolean): boolean {
    const pieces = this.#pieces;
    let first = 0;
    while (first < pieces.length && (pieces[first].sent > 0 || !pieces[first].isMedia)) first += 1;
    let entry = pieces.length - 1;
    while (entry > first && !pieces[entry].isEntry) entry -= 1;
    const isKept = !isAll && entry > first;
    for (const piece of pieces.splice(first, isKept ? entry - first : pieces.length)) {
      this.bytes -= piece.length;
      this.droppedFrames += piece.frames;
      this.#give(piece);
    }
    return isKept;
  }

  /** Drops everything: the connection is over. */
  clear(): void {
    for (const piece of this.#pieces.splice(0)) this.#give(piece);
    this.bytes = 0;
    this.hasSentMedia = false;
    this.out = NOTHING;
  }

  #take(size: number): Uint8Array | undefined {
    const { limit, pool, memory } = this.#options;
    if (this.#held + size > limit) return undefined;
    const bytes = pool.take(size);
    const held = this.#held + bytes.length;
    if (held > limit || !memory.resize(held)) {
      pool.give(bytes);
      return undefined;
    }
    this.#held = held;
    return bytes;
  }

  #give(piece: Piece): void {
    this.#held -= piece.bytes.length;
    this.#options.memory.resize(this.#held);
    this.#options.pool.give(piece.bytes);
  }
}

interface QueueOptions {
  /** Most bytes that its buffers may have, and bytes of an ordinary one. */
  readonly limit: number;
  readonly pieceBytes: number;
  readonly pool: BufferPool;
  readonly memory: MemoryHold;
}

interface Piece {
  readonly bytes: Uint8Array;
  /** Bytes written to it. */
  length: number;
  /** Bytes of these that were handed over. */
  sent: number;
  /** Pictures in it. */
  frames: number;
  /** Media may begin with it after a gap. */
  readonly isEntry: boolean;
  /** Not only what leads all messages. */
  isMedia: boolean;
}

const NOTHING = new Uint8Array(0);
