import type { Arena, MediaSink } from '../sink.ts';
import {
  AUDIO,
  CONTROL,
  CSID,
  EXTENDED,
  FIELD,
  LEFT,
  LENGTH,
  SIDE,
  SKIP,
  STREAM,
  STRIDE,
  TARGET,
  TIME,
  TYPE,
  VIDEO,
} from './chunk-stream.ts';
import { copyBytes } from './copy-bytes.ts';
import { isControl, isMedia, messageType } from './message-type.ts';
import { ProtocolError } from './protocol-error.ts';
import { SideBuffers } from './side-buffers.ts';

export interface ChunkParserOptions {
  /** Most bytes of one message; of one command, data or protocol control message; most chunk streams. */
  readonly limits: {
    readonly messageBytes: number;
    readonly controlBytes: number;
    readonly chunkStreams: number;
  };
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
  #sink: MediaSink | undefined;
  #mediaStream = -1;
  #chunkSize = 128;
  /** Payload bytes still to come of the chunk being read. 0: a header comes next. */
  #chunkLeft = 0;
  /** Where in `#streams` the chunk stream of that chunk lies. */
  #current = 0;
  /** Chunk streams, `STRIDE` numbers each. Grows: most connections use four. */
  #streams = new Uint32Array(4 * STRIDE);
  #streamCount = 0;
  /** Chunk streams whose message is being received straight into the arena, or -1. */
  #videoOwner = -1;
  #audioOwner = -1;
  readonly #sides: SideBuffers;
  /** The beginning of a header that the input cut. */
  readonly #stash = new Uint8Array(LONGEST_HEADER);
  #stashed = 0;

  constructor(options: ChunkParserOptions) {
    this.#options = options;
    this.#sides = new SideBuffers({
      limit: 2 * options.limits.controlBytes,
      complaint: 'too many bytes in unfinished messages',
    });
  }

  /** From the next message on, media of this message stream goes to the sink. */
  attach(sink: MediaSink, streamId: number): void {
    this.detach();
    this.#sink = sink;
    this.#mediaStream = streamId;
    this.#sides.limit = this.#options.limits.messageBytes;
  }

  /** Nothing reaches the sink any more, not even the rest of a message that has begun. */
  detach(): void {
    if (this.#sink === undefined) return;
    const streams = this.#streams;
    for (let at = 0; at < this.#streamCount * STRIDE; at += STRIDE) {
      if (streams[at + LEFT] > 0 && isMedia(streams[at + TYPE])) this.#discard(at);
    }
    this.#sink = undefined;
    this.#mediaStream = -1;
    this.#sides.limit = 2 * this.#options.limits.controlBytes;
  }

  /** Reads `bytes[from, to)`. Returns where it stopped: `to`, or earlier when `paused` was set. */
  feed(bytes: Uint8Array, from: number, to: number): number {
    let at = from;
    while (at < to && !this.paused) {
      if (this.#chunkLeft > 0) at = this.#readPayload(bytes, at, to);
      else if (this.#stashed > 0) at = this.#readCutHeader(bytes, at);
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
    const stream = this.#find(csid, format);
    const streams = this.#streams;
    if (streams[stream + LEFT] > 0)
      throw new ProtocolError('a message began inside another on its chunk stream');
    if (format < 2) {
      streams[stream + LENGTH] = (bytes[fields + 3] << 16) | (bytes[fields + 4] << 8) | bytes[fields + 5];
      streams[stream + TYPE] = bytes[fields + 6];
    }
    if (format === 0) {
      const id = fields + 7;
      streams[stream + STREAM] =
        bytes[id] | (bytes[id + 1] << 8) | (bytes[id + 2] << 16) | (bytes[id + 3] << 24);
      streams[stream + TIME] = time;
    } else streams[stream + TIME] += time;
    // A fmt 3 that begins a message repeats this field as its delta, after fmt 0 too (5.3.1.2.4).
    streams[stream + FIELD] = time;
    streams[stream + EXTENDED] = isExtended ? 1 : 0;
    this.#beginMessage(stream);
    return size;
  }

  #readShortHeader(bytes: Uint8Array, at: number, to: number, basic: number, csid: number): number {
    let size = basic;
    const stream = this.#find(csid, 3);
    const streams = this.#streams;
    if (streams[stream + EXTENDED] === 1) {
      // The extended field is repeated here (5.3.1.3), but old senders leave it out: if the bytes are not
      // the expected ones they are payload.
      const expected = streams[stream + FIELD];
      let index = 0;
      for (; index < 4; index += 1) {
        if (at + basic + index === to) return 0;
        if (bytes[at + basic + index] !== ((expected >>> (24 - 8 * index)) & 0xff)) break;
      }
      if (index === 4) size += 4;
    }
    if (streams[stream + LEFT] === 0) {
      streams[stream + TIME] += streams[stream + FIELD];
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
    const streams = this.#streams;
    const { limits } = this.#options;
    const length = streams[stream + LENGTH];
    const type = streams[stream + TYPE];
    if (length > limits.messageBytes) throw new ProtocolError('a message is larger than the limit');
    let target = SKIP;
    if (isMedia(type)) {
      if (this.#sink !== undefined && streams[stream + STREAM] === this.#mediaStream) {
        target = this.#mediaTarget(type, stream, length);
      }
    } else if (isControl(type)) target = CONTROL;
    if (target === CONTROL && length > limits.controlBytes) {
      throw new ProtocolError('a control message is larger than the limit');
    }
    streams[stream + TARGET] = target;
    streams[stream + LEFT] = length;
    if (length > 0) this.#beginChunk(stream);
    else if (target === CONTROL) this.#onControl(stream, NOTHING, 0, 0);
  }

  /** Where a media message goes: its arena, or aside while another of its track is being received. */
  #mediaTarget(type: number, stream: number, length: number): number {
    const sink = this.#sink;
    if (sink === undefined || length === 0) return SKIP;
    if (type === messageType.video) {
      if (this.#videoOwner >= 0) return SIDE;
      this.#videoOwner = stream;
      sink.video.messageStart = sink.video.length;
      return VIDEO;
    }
    if (type === messageType.audio) {
      if (this.#audioOwner >= 0) return SIDE;
      this.#audioOwner = stream;
      sink.audio.messageStart = sink.audio.length;
      return AUDIO;
    }
    return CONTROL;
  }

  #beginChunk(stream: number): void {
    const left = this.#streams[stream + LEFT];
    this.#current = stream;
    this.#chunkLeft = Math.min(left, this.#chunkSize);
  }

  #readPayload(bytes: Uint8Array, at: number, to: number): number {
    const stream = this.#current;
    const streams = this.#streams;
    const count = Math.min(this.#chunkLeft, to - at);
    const left = streams[stream + LEFT] - count;
    const target = streams[stream + TARGET];
    this.#chunkLeft -= count;
    streams[stream + LEFT] = left;
    if (target === VIDEO) {
      const sink = this.#sink as MediaSink;
      append(sink.video, bytes, at, count);
      if (left === 0) this.#finishVideo(sink, streams[stream + TIME]);
    } else if (target === AUDIO) {
      const sink = this.#sink as MediaSink;
      append(sink.audio, bytes, at, count);
      if (left === 0) this.#finishAudio(sink, streams[stream + TIME]);
    } else if (target !== SKIP) {
      // A control message that came in one piece is read where it lies.
      if (target === CONTROL && count === streams[stream + LENGTH])
        this.#onControl(stream, bytes, at, at + count);
      else {
        this.#sides.append(stream, bytes, at, count);
        if (left === 0) this.#finishSide(stream, target);
      }
    }
    return at + count;
  }

  #finishVideo(sink: MediaSink, timestamp: number): void {
    const { video } = sink;
    const start = video.messageStart;
    video.messageStart = -1;
    this.#videoOwner = -1;
    sink.onVideo(start, video.length, timestamp);
  }

  #finishAudio(sink: MediaSink, timestamp: number): void {
    const { audio } = sink;
    const start = audio.messageStart;
    audio.messageStart = -1;
    this.#audioOwner = -1;
    sink.onAudio(start, audio.length, timestamp);
  }

  /** A message that was put together aside is whole. Rare: nobody real interleaves within one track. */
  #finishSide(stream: number, target: number): void {
    const streams = this.#streams;
    const whole = this.#sides.take(stream);
    if (target === CONTROL) {
      this.#onControl(stream, whole, 0, whole.length);
      return;
    }
    const sink = this.#sink as MediaSink;
    const isVideo = streams[stream + TYPE] === messageType.video;
    const arena = isVideo ? sink.video : sink.audio;
    const owner = isVideo ? this.#videoOwner : this.#audioOwner;
    if (owner >= 0) {
      // The other message has part of its bytes at the end of the arena: they change places.
      this.#sides.append(owner, arena.bytes, arena.messageStart, arena.length - arena.messageStart);
      arena.length = arena.messageStart;
      streams[owner + TARGET] = SIDE;
    }
    arena.messageStart = arena.length;
    append(arena, whole, 0, whole.length);
    if (isVideo) this.#finishVideo(sink, streams[stream + TIME]);
    else this.#finishAudio(sink, streams[stream + TIME]);
  }

  #onControl(stream: number, bytes: Uint8Array, start: number, end: number): void {
    const streams = this.#streams;
    const type = streams[stream + TYPE];
    if (type === messageType.setChunkSize) this.#setChunkSize(readControlUint32(bytes, start, end));
    else if (type === messageType.abort) {
      const aborted = this.#lookup(readControlUint32(bytes, start, end));
      if (aborted >= 0 && this.#streams[aborted + LEFT] > 0) {
        this.#discard(aborted);
        this.#streams[aborted + LEFT] = 0;
      }
    } else this.#options.onControl(type, streams[stream + STREAM], bytes, start, end, streams[stream + TIME]);
  }

  /** 5.4.1: at least 1; the first bit is zero. More than a message can hold makes no difference. */
  #setChunkSize(size: number): void {
    if (size === 0) throw new ProtocolError('the chunk size was set to 0');
    if (size > 0x7fffffff) throw new ProtocolError('the chunk size was set with its first bit on');
    this.#chunkSize = size;
  }

  /** Forgets the unfinished message of a chunk stream. Bytes of it that still come are stepped over. */
  #discard(stream: number): void {
    const streams = this.#streams;
    const sink = this.#sink;
    if (stream === this.#videoOwner) {
      this.#videoOwner = -1;
      if (sink !== undefined) truncate(sink.video);
    } else if (stream === this.#audioOwner) {
      this.#audioOwner = -1;
      if (sink !== undefined) truncate(sink.audio);
    } else this.#sides.drop(stream);
    streams[stream + TARGET] = SKIP;
  }

  /** The chunk stream of this id, made when it is new. `format` is that of the chunk that names it. */
  #find(csid: number, format: number): number {
    const found = this.#lookup(csid);
    if (found >= 0) return found;
    // librtmp opens a chunk stream with fmt 1; without a length there is nothing to begin.
    if (format > 1) throw new ProtocolError('a chunk stream began without a full header');
    if (this.#streamCount === this.#options.limits.chunkStreams)
      throw new ProtocolError('too many chunk streams');
    const stream = this.#streamCount * STRIDE;
    if (stream === this.#streams.length) {
      const grown = new Uint32Array(this.#streams.length * 2);
      grown.set(this.#streams);
      this.#streams = grown;
    }
    this.#streamCount += 1;
    this.#streams[stream + CSID] = csid;
    return stream;
  }

  #lookup(csid: number): number {
    const streams = this.#streams;
    const end = this.#streamCount * STRIDE;
    for (let at = 0; at < end; at += STRIDE) if (streams[at + CSID] === csid) return at;
    return -1;
  }
}

/** Basic header of 3, message header of 11, extended timestamp of 4. */
const LONGEST_HEADER = 18;
const NOTHING = new Uint8Array(0);

function append(arena: Arena, bytes: Uint8Array, from: number, count: number): void {
  if (!arena.reserve(count)) throw new ProtocolError('a track holds more media than its limit');
  copyBytes(bytes, from, arena.bytes, arena.length, count);
  arena.length += count;
}

function truncate(arena: Arena): void {
  arena.length = arena.messageStart;
  arena.messageStart = -1;
}

function readUint32(bytes: Uint8Array, at: number): number {
  return ((bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3]) >>> 0;
}

function readControlUint32(bytes: Uint8Array, start: number, end: number): number {
  if (end - start < 4) throw new ProtocolError('a protocol control message is cut short');
  return readUint32(bytes, start);
}
