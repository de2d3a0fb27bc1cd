import type { PushConnection } from './connection.ts';
import type { PushQueue } from './queue.ts';

/** The headers of what is broadcast. Their bytes are the same object until they change. */
export interface PushedMedia {
  /** Whole FLV bodies. */
  readonly videoHeader: Uint8Array | undefined;
  readonly audioHeader: Uint8Array | undefined;
  /** The data message; `videoOnly`: without the fields of sound. */
  metadata(videoOnly: boolean): Uint8Array;
  /** A picture may still come at `time`, so that sound alone must not begin. */
  isVideoDue(time: number): boolean;
}

export interface OutletOptions {
  readonly connection: PushConnection;
  readonly source: PushedMedia;
  readonly queue: PushQueue;
  readonly videoOnly: boolean;
  /** ms */
  readonly batch: number;
  /** Pictures had to be left out. Called again and again. */
  onSlow(): void;
  /** Media was handed over. Called once. */
  onMedia(): void;
}

/**
 * Writes media to one connection, from the first key frame on. What it cannot take waits in the queue; beyond the bounds of the
 * queue whole groups of pictures are left out, and it continues at a key frame with all headers before it. Times are ms of one
 * timeline and rise by track; `now` is epoch ms. Throws what the connection throws; then it must not be used again.
 */
export class Outlet {
  readonly #options: OutletOptions;
  readonly #connection: PushConnection;
  readonly #queue: PushQueue;
  /** The time that is 0 for the server; -1: nothing was sent yet. */
  #base = -1;
  /** It takes nothing until it says so. */
  #isBlocked = false;
  /** Pictures wait for a key frame, and sound until media begins. */
  #videoWaits = true;
  #audioWaits = true;
  /** They wait because something was left out. */
  #isGap = false;
  /** All headers are due, whatever was sent. */
  #isHeadDue = true;
  /** What was sent last of each. */
  #metadata: Uint8Array | undefined;
  #videoHeader: Uint8Array | undefined;
  #audioHeader: Uint8Array | undefined;
  /** Since when what is gathered waits. */
  #gatheredSince = 0;
  /** When it last took a byte, or something began to wait for it. */
  #takenAt = 0;
  /** When nothing waited last, and since when that was so again and again. */
  #emptyAt = Number.NEGATIVE_INFINITY;
  #upSince = Number.POSITIVE_INFINITY;
  #hasBegun = false;

  constructor(options: OutletOptions) {
    this.#options = options;
    this.#connection = options.connection;
    this.#queue = options.queue;
  }

  /** Writes what comes before all messages. False: there is no memory for it. */
  open(now: number): boolean {
    this.#takenAt = now;
    if (!this.#queue.lead(this.#connection.framing.preamble)) return false;
    this.flush(now);
    return true;
  }

  /** Another publish begins: nothing before its first key frame is of use. */
  restart(): void {
    this.#videoWaits = this.#audioWaits = true;
    this.#isGap = false;
  }

  /** The same of its pictures alone. */
  restartVideo(): void {
    this.#videoWaits = true;
  }

  /** A picture, the FLV body `bytes[start, end)`, good during the call. */
  video(bytes: Uint8Array, start: number, end: number, time: number, isKey: boolean, now: number): void {
    const queue = this.#queue;
    const size = this.#connection.framing.sizeOf(end - start);
    if (isKey) {
      if (!this.#enter(size, now)) {
        queue.droppedFrames += 1;
        return;
      }
      this.#videoWaits = this.#audioWaits = this.#isGap = false;
      this.#head(time);
    } else if (this.#videoWaits) {
      if (this.#isGap) queue.droppedFrames += 1;
      return;
    } else if (!this.#reserve(size)) {
      queue.droppedFrames += 1;
      return;
    }
    this.#put(VIDEO, time, bytes, start, end);
    this.#gathered(true, now);
  }

  /** The same for sound. */
  audio(bytes: Uint8Array, start: number, end: number, time: number, now: number): void {
    const { source, videoOnly } = this.#options;
    const header = source.audioHeader;
    if (videoOnly || header === undefined) return;
    if (this.#audioWaits && source.isVideoDue(time)) return;
    // What lags behind the first picture is not heard.
    if (time < this.#base) return;
    const { framing } = this.#connection;
    const size =
      framing.sizeOf(end - start) + (header === this.#audioHeader ? 0 : framing.sizeOf(header.length));
    // Without pictures every sound is one to begin with: where a piece is full is as good as anywhere.
    if (this.#audioWaits || (this.#videoWaits && !this.#queue.fits(size))) {
      if (!this.#enter(size, now)) return;
      this.#audioWaits = this.#isGap = false;
      this.#head(time);
    } else if (!this.#reserve(size)) return;
    if (header !== this.#audioHeader) this.#putAudioHeader(header, time);
    this.#put(AUDIO, time, bytes, start, end);
    this.#gathered(false, now);
  }

  /** Hands over what is gathered, unless it has said that it takes nothing. */
  flush(now: number): void {
    if (this.#isBlocked) return;
    const queue = this.#queue;
    const { sentBytes } = queue;
    const isAll = queue.flush(this.#connection);
    if (queue.sentBytes > sentBytes) this.#takenAt = now;
    this.#isBlocked = !isAll;
    if (isAll) {
      if (now - this.#emptyAt > behindMs) this.#upSince = now;
      this.#emptyAt = now;
    }
    if (!queue.hasSentMedia || this.#hasBegun) return;
    this.#hasBegun = true;
    this.#options.onMedia();
  }

  /** It takes bytes again. */
  drain(now: number): void {
    this.#isBlocked = false;
    this.flush(now);
  }

  /** To be called about twice a second: writes what waits although no message follows. */
  look(now: number): void {
    if (!this.#queue.isEmpty && now - this.#gatheredSince >= this.#options.batch) this.flush(now);
  }

  /** For how long, ms, it took nothing of what it was given. */
  stalledFor(now: number): number {
    return this.#isBlocked ? now - this.#takenAt : 0;
  }

  /** It has taken all there was for a while. */
  get hasKeptUp(): boolean {
    return this.#emptyAt - this.#upSince >= keptUpMs;
  }

  /** Ends with what it still takes. False: it stands in the middle of a message, and nothing can be said. */
  leave(now: number): boolean {
    this.flush(now);
    if (this.#queue.isHalfWritten) return false;
    this.#connection.leave();
    return true;
  }

  /** Reserves room for the first message and all headers before it. False: there is none even when nothing else waits. */
  #enter(size: number, now: number): boolean {
    const queue = this.#queue;
    // What came before is flushed by itself, so that a later gap may end here.
    if (!queue.isEmpty) this.flush(now);
    // What waits may be dropped later, with the headers in it.
    if (!queue.isEmpty) this.#isHeadDue = true;
    const whole = size + this.#headSize();
    if (queue.reserve(whole, true)) return true;
    queue.drop(true);
    this.#wait();
    return queue.reserve(whole, true);
  }

  /** Room for what goes on. False: it is not there, and what follows waits for a key frame. */
  #reserve(size: number): boolean {
    const queue = this.#queue;
    if (queue.reserve(size, false)) return true;
    const isKept = queue.drop(false);
    if (isKept && queue.reserve(size, false)) {
      this.#slow();
      return true;
    }
    queue.drop(true);
    this.#wait();
    return false;
  }

  #wait(): void {
    this.#videoWaits = this.#audioWaits = this.#isGap = this.#isHeadDue = true;
    this.#slow();
  }

  #slow(): void {
    this.#emptyAt = Number.NEGATIVE_INFINITY;
    this.#upSince = Number.POSITIVE_INFINITY;
    this.#options.onSlow();
  }

  /** Most bytes that all headers take. */
  #headSize(): number {
    const { source, videoOnly } = this.#options;
    const { framing } = this.#connection;
    const { videoHeader, audioHeader } = source;
    let size = framing.sizeOf(source.metadata(videoOnly).length);
    if (videoHeader !== undefined) size += framing.sizeOf(videoHeader.length);
    if (audioHeader !== undefined && !videoOnly) size += framing.sizeOf(audioHeader.length);
    return size;
  }

  /** Metadata and headers: those that were not sent, or all when they are due. */
  #head(time: number): void {
    const { source, videoOnly } = this.#options;
    const isAll = this.#isHeadDue;
    this.#isHeadDue = false;
    const metadata = source.metadata(videoOnly);
    const { videoHeader, audioHeader } = source;
    if (this.#base < 0) this.#base = time;
    if (isAll || metadata !== this.#metadata) this.#put(DATA, time, metadata, 0, metadata.length);
    this.#metadata = metadata;
    if (videoHeader !== undefined && (isAll || videoHeader !== this.#videoHeader))
      this.#put(VIDEO, time, videoHeader, 0, videoHeader.length);
    this.#videoHeader = videoHeader;
    if (videoOnly || audioHeader === undefined) return;
    if (isAll || audioHeader !== this.#audioHeader) this.#putAudioHeader(audioHeader, time);
  }

  #putAudioHeader(header: Uint8Array, time: number): void {
    this.#audioHeader = header;
    this.#put(AUDIO, time, header, 0, header.length);
  }

  #put(type: number, time: number, bytes: Uint8Array, start: number, end: number): void {
    const queue = this.#queue;
    const stamp = Math.max(0, time - this.#base);
    queue.at = this.#connection.framing.write(queue.out, queue.at, type, stamp, bytes, start, end);
  }

  /** A message was written down. */
  #gathered(isPicture: boolean, now: number): void {
    const queue = this.#queue;
    if (queue.bytes === 0) {
      this.#gatheredSince = now;
      // Also when all that waited was dropped: a blocked connection was offered something before.
      if (!this.#isBlocked) this.#takenAt = now;
    }
    queue.commit(isPicture);
    if (this.#isBlocked) return;
    const isDue = queue.bytes >= batchBytes || now - this.#gatheredSince >= this.#options.batch;
    if (isDue || !this.#hasBegun) this.flush(now);
  }
}

/** Types of RTMP messages and FLV tags. */
const AUDIO = 0x08;
const VIDEO = 0x09;
const DATA = 0x12;

/** Media gathered for a target is written at once beyond this; also the size of the buffers it is gathered in. */
export const batchBytes = 131_072;
/** ms after which a slow target that kept up is no longer slow. */
const keptUpMs = 10_000;
/** ms for which something may wait for a target that keeps up. */
const behindMs = 1000;
