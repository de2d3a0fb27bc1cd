import { ProtocolError } from './protocol-error.ts';

/**
 * The state of one chunk stream is STRIDE numbers in a Uint32Array that all of a connection share: these are
 * their places. Unsigned 32-bit cells make timestamps wrap by themselves.
 */
export const STRIDE = 9;
const CSID = 0;
/** Timestamp of its last message. */
export const TIME = 1;
/** Timestamp field of its last full header: what fmt 3 adds and repeats. */
export const FIELD = 2;
export const EXTENDED = 3;
export const LENGTH = 4;
export const TYPE = 5;
/** Message stream id. */
export const STREAM = 6;
/** Bytes its message still lacks; above 0, it is in progress. */
export const LEFT = 7;
export const TARGET = 8;

/** Most connections use four. */
const MOST_STREAMS = 64;

/** The chunk streams of one connection. A chunk stream is known by where its cells begin. */
export class ChunkStreams {
  /** `STRIDE` cells each. Another array once it has grown: read it anew after `find`. */
  cells = new Uint32Array(4 * STRIDE);
  #end = 0;

  /** Behind the cells of the last one. */
  get end(): number {
    return this.#end;
  }

  /** The chunk stream of this id, made when it is new. `format` is that of the chunk that names it. */
  find(csid: number, format: number): number {
    const found = this.lookup(csid);
    return found < 0 ? this.#open(csid, format) : found;
  }

  /** -1 when there is none. */
  lookup(csid: number): number {
    const cells = this.cells;
    for (let at = 0; at < this.#end; at += STRIDE) if (cells[at + CSID] === csid) return at;
    return -1;
  }

  #open(csid: number, format: number): number {
    // librtmp opens a chunk stream with fmt 1; without a length there is nothing to begin.
    if (format > 1) throw new ProtocolError('a chunk stream began without a full header');
    const stream = this.#end;
    if (stream === MOST_STREAMS * STRIDE) throw new ProtocolError('too many chunk streams');
    if (stream === this.cells.length) {
      const grown = new Uint32Array(stream * 2);
      grown.set(this.cells);
      this.cells = grown;
    }
    this.#end += STRIDE;
    this.cells[stream + CSID] = csid;
    return stream;
  }
}
