import { copyBytes } from '../../base/copy-bytes.ts';
import type { Arena, MediaSink } from '../publish/sink.ts';
import { isControl, isMedia, messageType } from './message-writer.ts';
import { ProtocolError } from './protocol-error.ts';

/**
 * The state of one chunk stream is STRIDE numbers in a Uint32Array that all of a connection share: these are
 * their places. Unsigned 32-bit cells make timestamps wrap by themselves.
 */
const STRIDE = 9;
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
const TARGET = 8;

/** The chunk streams of one connection. A chunk stream is known by where its cells begin. */
export class ChunkStreams {
  /** `STRIDE` cells each. It is replaced when it grows: read it again after `find`. */
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

export interface MessageInboxOptions {
  readonly streams: ChunkStreams;
  /** Most bytes of one message. */
  readonly messageBytes: number;
  /** A whole message that is not media, of this chunk stream, lies in `bytes[start, end)` during the call. */
  onMessage(stream: number, bytes: Uint8Array, start: number, end: number): void;
}

/**
 * Puts payload where it belongs: media straight into the arenas of its sink, other messages aside until they
 * are whole. Media without a sink, or of another message stream than the sink's, is stepped over.
 */
export class MessageInbox {
  readonly #options: MessageInboxOptions;
  readonly #streams: ChunkStreams;
  readonly #sides: SideBuffers;
  #sink: MediaSink | undefined;
  #mediaStream = -1;
  /** By VIDEO and AUDIO: the chunk stream whose message is being received straight into the arena, or -1. */
  readonly #owners = [-1, -1, -1];

  constructor(options: MessageInboxOptions) {
    this.#options = options;
    this.#streams = options.streams;
    this.#sides = new SideBuffers({
      limit: STRANGER_BYTES,
      complaint: 'too many bytes in unfinished messages',
    });
  }

  /** From the next message on, media of this message stream goes to the sink. */
  attach(sink: MediaSink, streamId: number): void {
    this.detach();
    this.#sink = sink;
    this.#mediaStream = streamId;
    this.#sides.limit = this.#options.messageBytes;
  }

  /** Nothing reaches the sink any more, not even the rest of a message that has begun. */
  detach(): void {
    if (this.#sink === undefined) return;
    const { cells, end } = this.#streams;
    for (let at = 0; at < end; at += STRIDE)
      if (cells[at + LEFT] > 0 && isMedia(cells[at + TYPE])) this.discard(at);
    this.#sink = undefined;
    this.#mediaStream = -1;
    this.#sides.limit = STRANGER_BYTES;
  }

  /** A message begins: TYPE and LENGTH are known. One of no bytes is over at once. */
  begin(stream: number): void {
    const { cells } = this.#streams;
    const length = cells[stream + LENGTH];
    const type = cells[stream + TYPE];
    if (length > this.#options.messageBytes) throw new ProtocolError('a message is larger than the limit');
    let target = SKIP;
    if (isMedia(type)) {
      if (this.#sink !== undefined && length > 0 && cells[stream + STREAM] === this.#mediaStream)
        target = this.#mediaTarget(this.#sink, type, stream);
    } else if (isControl(type)) target = CONTROL;
    if (target === CONTROL && length > CONTROL_BYTES)
      throw new ProtocolError('a control message is larger than the limit');
    cells[stream + TARGET] = target;
    cells[stream + LEFT] = length;
    if (length === 0 && target === CONTROL) this.#options.onMessage(stream, NOTHING, 0, 0);
  }

  /** The next `count` bytes of its message, no more than it lacks, lie at `bytes[at]`. */
  receive(stream: number, bytes: Uint8Array, at: number, count: number): void {
    const { cells } = this.#streams;
    const left = cells[stream + LEFT] - count;
    const target = cells[stream + TARGET];
    cells[stream + LEFT] = left;
    if (target === VIDEO || target === AUDIO) {
      const sink = this.#sink as MediaSink;
      append(target === VIDEO ? sink.video : sink.audio, bytes, at, count);
      if (left === 0) this.#finish(sink, target, cells[stream + TIME]);
    } else if (target !== SKIP) {
      // A control message that came in one piece is read where it lies.
      if (target === CONTROL && count === cells[stream + LENGTH])
        this.#options.onMessage(stream, bytes, at, at + count);
      else {
        this.#sides.append(stream, bytes, at, count);
        if (left === 0) this.#finishSide(stream, target);
      }
    }
  }

  /** Forgets the unfinished message of a chunk stream. Bytes of it that still come are stepped over. */
  discard(stream: number): void {
    const { cells } = this.#streams;
    const target = cells[stream + TARGET];
    cells[stream + TARGET] = SKIP;
    if (target === VIDEO || target === AUDIO) {
      const sink = this.#sink as MediaSink;
      const arena = target === VIDEO ? sink.video : sink.audio;
      this.#owners[target] = -1;
      arena.length = arena.messageStart;
      arena.messageStart = -1;
    } else this.#sides.drop(stream);
  }

  /** Its arena, or aside while another message of its track is being received. */
  #mediaTarget(sink: MediaSink, type: number, stream: number): number {
    if (type !== messageType.video && type !== messageType.audio) return CONTROL;
    const target = type === messageType.video ? VIDEO : AUDIO;
    if (this.#owners[target] >= 0) return SIDE;
    this.#owners[target] = stream;
    const arena = target === VIDEO ? sink.video : sink.audio;
    arena.messageStart = arena.length;
    return target;
  }

  #finish(sink: MediaSink, target: number, timestamp: number): void {
    const arena = target === VIDEO ? sink.video : sink.audio;
    const start = arena.messageStart;
    arena.messageStart = -1;
    this.#owners[target] = -1;
    if (target === VIDEO) sink.onVideo(start, arena.length, timestamp);
    else sink.onAudio(start, arena.length, timestamp);
  }

  /** A message that was assembled aside is complete. Rare: real encoders do not interleave within one track. */
  #finishSide(stream: number, target: number): void {
    const { cells } = this.#streams;
    const whole = this.#sides.take(stream);
    if (target === CONTROL) {
      this.#options.onMessage(stream, whole, 0, whole.length);
      return;
    }
    const sink = this.#sink as MediaSink;
    const track = cells[stream + TYPE] === messageType.video ? VIDEO : AUDIO;
    const arena = track === VIDEO ? sink.video : sink.audio;
    const owner = this.#owners[track];
    if (owner >= 0) {
      // The other message has part of its bytes at the end of the arena: they change places.
      this.#sides.append(owner, arena.bytes, arena.messageStart, arena.length - arena.messageStart);
      arena.length = arena.messageStart;
      cells[owner + TARGET] = SIDE;
    }
    arena.messageStart = arena.length;
    append(arena, whole, 0, whole.length);
    this.#finish(sink, track, cells[stream + TIME]);
  }
}

/** Most bytes of one command, data or protocol control message. */
const CONTROL_BYTES = 64 * 1024;
/** Most bytes of unfinished messages while no sink is attached; with one, those of a message. */
const STRANGER_BYTES = 16 * 1024;

/** Most connections use four. */
const MOST_STREAMS = 64;

/** Values of TARGET: where the payload goes. */
const SKIP = 0;
const VIDEO = 1;
const AUDIO = 2;
/** To `onMessage`; put together aside unless it comes in one piece. */
const CONTROL = 3;
/** Media that is put together aside and then appended to its arena. */
const SIDE = 4;

const NOTHING = new Uint8Array(0);

function append(arena: Arena, bytes: Uint8Array, from: number, count: number): void {
  if (!arena.reserve(count))
    throw new ProtocolError('a track holds more media than its limit, or than the server has memory for');
  copyBytes(bytes, from, arena.bytes, arena.length, count);
  arena.length += count;
}

/** Bytes that cannot be used where they arrive, put together here, one run per number. */
export class SideBuffers {
  /** Most bytes held together. Lowering it is obeyed by what comes later. */
  limit: number;
  #held = 0;
  readonly #complaint: string;
  readonly #buffers = new Map<number, { bytes: Uint8Array; length: number }>();

  /** @param complaint what the `ProtocolError` says when more than `limit` bytes are held. */
  constructor(options: { limit: number; complaint: string }) {
    this.limit = options.limit;
    this.#complaint = options.complaint;
  }

  /** Grows with the bytes received, never with the length a header promises. */
  append(run: number, bytes: Uint8Array, from: number, count: number): void {
    if (this.#held + count > this.limit) throw new ProtocolError(this.#complaint);
    this.#held += count;
    let buffer = this.#buffers.get(run);
    if (buffer === undefined) {
      buffer = { bytes: new Uint8Array(Math.max(256, count)), length: 0 };
      this.#buffers.set(run, buffer);
    }
    const need = buffer.length + count;
    if (need > buffer.bytes.length) {
      const grown = new Uint8Array(Math.max(need, 2 * buffer.bytes.length));
      grown.set(buffer.bytes.subarray(0, buffer.length));
      buffer.bytes = grown;
    }
    copyBytes(bytes, from, buffer.bytes, buffer.length, count);
    buffer.length = need;
  }

  /** Hands the bytes over and forgets them. */
  take(run: number): Uint8Array {
    const buffer = this.#buffers.get(run);
    this.drop(run);
    return buffer === undefined ? new Uint8Array(0) : buffer.bytes.subarray(0, buffer.length);
  }

  drop(run: number): void {
    const buffer = this.#buffers.get(run);
    if (buffer === undefined) return;
    this.#held -= buffer.length;
    this.#buffers.delete(run);
  }
}
