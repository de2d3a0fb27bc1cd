import { copyBytes } from '../../base/copy-bytes.ts';
import type { Arena, MediaSink } from '../publish/sink.ts';
import { type ChunkStreams, LEFT, LENGTH, STREAM, STRIDE, TARGET, TIME, TYPE } from './chunk-stream.ts';
import { isControl, isMedia, messageType } from './message-type.ts';
import { ProtocolError } from './protocol-error.ts';
import { SideBuffers } from './side-buffers.ts';

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
  /** Chunk streams whose message is being received straight into the arena, or -1. */
  #videoOwner = -1;
  #audioOwner = -1;

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
    if (target === VIDEO) {
      const sink = this.#sink as MediaSink;
      append(sink.video, bytes, at, count);
      if (left === 0) this.#finishVideo(sink, cells[stream + TIME]);
    } else if (target === AUDIO) {
      const sink = this.#sink as MediaSink;
      append(sink.audio, bytes, at, count);
      if (left === 0) this.#finishAudio(sink, cells[stream + TIME]);
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
    const sink = this.#sink;
    if (stream === this.#videoOwner) {
      this.#videoOwner = -1;
      if (sink !== undefined) truncate(sink.video);
    } else if (stream === this.#audioOwner) {
      this.#audioOwner = -1;
      if (sink !== undefined) truncate(sink.audio);
    } else this.#sides.drop(stream);
    this.#streams.cells[stream + TARGET] = SKIP;
  }

  /** Its arena, or aside while another message of its track is being received. */
  #mediaTarget(sink: MediaSink, type: number, stream: number): number {
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
    const { cells } = this.#streams;
    const whole = this.#sides.take(stream);
    if (target === CONTROL) {
      this.#options.onMessage(stream, whole, 0, whole.length);
      return;
    }
    const sink = this.#sink as MediaSink;
    const isVideo = cells[stream + TYPE] === messageType.video;
    const arena = isVideo ? sink.video : sink.audio;
    const owner = isVideo ? this.#videoOwner : this.#audioOwner;
    if (owner >= 0) {
      // The other message has part of its bytes at the end of the arena: they change places.
      this.#sides.append(owner, arena.bytes, arena.messageStart, arena.length - arena.messageStart);
      arena.length = arena.messageStart;
      cells[owner + TARGET] = SIDE;
    }
    arena.messageStart = arena.length;
    append(arena, whole, 0, whole.length);
    if (isVideo) this.#finishVideo(sink, cells[stream + TIME]);
    else this.#finishAudio(sink, cells[stream + TIME]);
  }
}

/** Most bytes of one command, data or protocol control message. */
const CONTROL_BYTES = 64 * 1024;
/** Most bytes of unfinished messages while no sink is attached; with one, those of a message. */
const STRANGER_BYTES = 16 * 1024;

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

function truncate(arena: Arena): void {
  arena.length = arena.messageStart;
  arena.messageStart = -1;
}
