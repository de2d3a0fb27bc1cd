import type { MediaSink } from '../publish/sink.ts';
import {
  ChunkStreams,
  EXTENDED,
  FIELD,
  LEFT,
  LENGTH,
  MessageInbox,
  STREAM,
  TIME,
  TYPE,
} from './message-inbox.ts';
import { messageType } from './message-writer.ts';
import { ProtocolError } from './protocol-error.ts';

export interface ChunkParserOptions {
  /** Most bytes of one message. */
  readonly messageBytes: number;
  /**
   * A whole message that is not media lies in `bytes[start, end)`, which is good during the call only.
   * May call `attach` and `detach` and set `paused`. Data messages come only while a sink is attached.
   */
  onControl(
    type: number,
    streamId: number,
    bytes: Uint8Array,
    start: number,
    end: number,
    timestamp: number,
  ): void;
}

/**
 * RTMP chunks (RTMP 1.0, section 5.3) to messages. This is the hot path: headers are read where they lie in
 * the socket's buffer and media goes from there straight into the sink's arenas. `feed` keeps no reference
 * to its input; a header cut by the end of the input is the only thing copied aside.
 *
 * Media without a sink, or of another message stream than the sink's, is stepped over and never stored.
 * Timestamps are 32-bit and wrap. Set Chunk Size and Abort are obeyed here. Throws `ProtocolError` when the
 * peer breaks the rules or a limit, and whatever the sink throws; the parser is of no use after that.
 */
export class ChunkParser {
  /** Set true inside `onControl` to make `feed` stop behind that message. */
  paused = false;

  readonly #options: ChunkParserOptions;
  readonly #streams = new ChunkStreams();
  readonly #inbox: MessageInbox;
  #chunkSize = 128;
  /** Payload bytes still to come of the chunk being read. 0: a header comes next. */
  #chunkLeft = 0;
  /** The chunk stream of that chunk. */
  #current = 0;
  /** The beginning of a header that the input cut. */
  readonly #stash = new Uint8Array(LONGEST_HEADER);
  #stashed = 0;

  constructor(options: ChunkParserOptions) {
    this.#options = options;
    const onMessage = this.#onMessage.bind(this);
    this.#inbox = new MessageInbox({ streams: this.#streams, messageBytes: options.messageBytes, onMessage });
  }

  /** From the next message on, media of this message stream goes to the sink. */
  attach(sink: MediaSink, streamId: number): void {
    this.#inbox.attach(sink, streamId);
  }

  /** Nothing reaches the sink any more, not even the rest of a message that has begun. */
  detach(): void {
    this.#inbox.detach();
  }

  /** Reads `bytes[from, to)`. Returns where it stopped: `to`, or earlier when `paused` was set. */
  feed(bytes: Uint8Array, from: number, to: number): number {
    let at = from;
    while (at < to && !this.paused) {
      if (this.#chunkLeft > 0) {
        const count = Math.min(this.#chunkLeft, to - at);
        this.#chunkLeft -= count;
        this.#inbox.receive(this.#current, bytes, at, count);
        at += count;
      } else if (this.#stashed > 0) at = this.#readCutHeader(bytes, at);
      else {
        const size = this.#readHeader(bytes, at, to);
        if (size === 0) {
          while (at < to) this.#stash[this.#stashed++] = bytes[at++];
        } else at += size;
      }
    }
    return at;
  }

  /**
   * Reads one chunk header at `bytes[at]` (5.3.1). Returns its size, or 0 when it goes on beyond `to`; then
   * nothing has changed.
   */
  #readHeader(bytes: Uint8Array, at: number, to: number): number {
    const available = to - at;
    const format = bytes[at] >> 6;
    let csid = bytes[at] & 63;
    let size = 1;
    if (csid < 2) {
      size += csid + 1;
      if (available < size) return 0;
      csid = csid === 0 ? 64 + bytes[at + 1] : 64 + bytes[at + 1] + (bytes[at + 2] << 8);
    }
    if (format === 3) return this.#readShortHeader(bytes, at, to, size, csid);

    const fields = at + size;
    size += format === 0 ? 11 : format === 1 ? 7 : 3;
    if (available < size) return 0;
    let time = (bytes[fields] << 16) | (bytes[fields + 1] << 8) | bytes[fields + 2];
    const isExtended = time === 0xffffff;
    if (isExtended) {
      if (available < size + 4) return 0;
      time = readUint32(bytes, at + size);
      size += 4;
    }
    const stream = this.#streams.find(csid, format);
    const { cells } = this.#streams;
    if (cells[stream + LEFT] > 0)
      throw new ProtocolError('a message began inside another on its chunk stream');
    if (format < 2) {
      cells[stream + LENGTH] = (bytes[fields + 3] << 16) | (bytes[fields + 4] << 8) | bytes[fields + 5];
      cells[stream + TYPE] = bytes[fields + 6];
    }
    if (format === 0) {
      const id = fields + 7;
      cells[stream + STREAM] =
        bytes[id] | (bytes[id + 1] << 8) | (bytes[id + 2] << 16) | (bytes[id + 3] << 24);
      cells[stream + TIME] = time;
    } else cells[stream + TIME] += time;
    // A fmt 3 that begins a message repeats this field as its delta, after fmt 0 too (5.3.1.2.4).
    cells[stream + FIELD] = time;
    cells[stream + EXTENDED] = isExtended ? 1 : 0;
    this.#beginMessage(stream);
    return size;
  }

  #readShortHeader(bytes: Uint8Array, at: number, to: number, basic: number, csid: number): number {
    let size = basic;
    const stream = this.#streams.find(csid, 3);
    const { cells } = this.#streams;
    if (cells[stream + EXTENDED] === 1) {
      // The extended field is repeated here (5.3.1.3), but old senders leave it out: if the bytes are not
      // the expected ones they are payload.
      const expected = cells[stream + FIELD];
      let index = 0;
      for (; index < 4; index += 1) {
        if (at + basic + index === to) return 0;
        if (bytes[at + basic + index] !== ((expected >>> (24 - 8 * index)) & 0xff)) break;
      }
      if (index === 4) size += 4;
    }
    if (cells[stream + LEFT] === 0) {
      cells[stream + TIME] += cells[stream + FIELD];
      this.#beginMessage(stream);
    } else this.#beginChunk(stream);
    return size;
  }

  /** Goes on with a header that an earlier input cut. Returns where to read on. */
  #readCutHeader(bytes: Uint8Array, at: number): number {
    this.#stash[this.#stashed] = bytes[at];
    this.#stashed += 1;
    const size = this.#readHeader(this.#stash, 0, this.#stashed);
    if (size === 0) return at + 1;
    // Bytes that looked like a repeated extended timestamp and turned out to be payload. The last of them
    // is the one just taken: it is read again from the input.
    const payload = this.#stash.slice(size, this.#stashed);
    this.#stashed = 0;
    if (payload.length === 0) return at + 1;
    let stopped = this.feed(payload, 0, payload.length - 1);
    while (stopped < payload.length - 1) this.#stash[this.#stashed++] = payload[stopped++];
    return at;
  }

  #beginMessage(stream: number): void {
    this.#inbox.begin(stream);
    this.#beginChunk(stream);
  }

  #beginChunk(stream: number): void {
    this.#current = stream;
    this.#chunkLeft = Math.min(this.#streams.cells[stream + LEFT], this.#chunkSize);
  }

  #onMessage(stream: number, bytes: Uint8Array, start: number, end: number): void {
    const { cells } = this.#streams;
    const type = cells[stream + TYPE];
    if (type === messageType.setChunkSize) this.#setChunkSize(readControlUint32(bytes, start, end));
    else if (type === messageType.abort) this.#abort(readControlUint32(bytes, start, end));
    else this.#options.onControl(type, cells[stream + STREAM], bytes, start, end, cells[stream + TIME]);
  }

  /** 5.4.2. */
  #abort(csid: number): void {
    const stream = this.#streams.lookup(csid);
    if (stream < 0 || this.#streams.cells[stream + LEFT] === 0) return;
    this.#inbox.discard(stream);
    this.#streams.cells[stream + LEFT] = 0;
  }

  /** 5.4.1: at least 1; the first bit is zero. More than a message can hold makes no difference. */
  #setChunkSize(size: number): void {
    if (size === 0) throw new ProtocolError('the chunk size was set to 0');
    if (size > 0x7fffffff) throw new ProtocolError('the chunk size was set with its first bit on');
    this.#chunkSize = size;
  }
}

/** Basic header of 3, message header of 11, extended timestamp of 4. */
const LONGEST_HEADER = 18;

function readUint32(bytes: Uint8Array, at: number): number {
  return ((bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3]) >>> 0;
}

function readControlUint32(bytes: Uint8Array, start: number, end: number): number {
  if (end - start < 4) throw new ProtocolError('a protocol control message is cut short');
  return readUint32(bytes, start);
}
