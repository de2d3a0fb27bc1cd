import type { InitTrack } from '../../mp4/read-init.ts';

/**
 * The sample tables of one track of the finished film (ISO/IEC 14496-12 8.6, 8.7), as bytes. Times are ticks of the track on
 * the film's timeline. A sample lasts until the next one is decoded; the last one has its own duration.
 */
export class TrackTable {
  readonly format: string;
  readonly isVideo: boolean;
  readonly timescale: number;
  /** The different configurations, as sample entries, and how many samples each has. */
  readonly entries: { readonly bytes: Uint8Array; samples: number }[] = [];
  readonly durations = new RunLengths();
  readonly offsets = new RunLengths();
  readonly sizes = new Words();
  readonly chunks = new Words();
  readonly places = new Words();
  readonly keys = new Words();
  count = 0;
  bytes = 0;
  /** Ticks that the samples last by their own word. */
  lasting = 0;
  /** When the first sample is decoded; NaN before it is there. */
  first = Number.NaN;
  /** When the first one is shown, and until when the last one is. */
  shownFrom = Number.POSITIVE_INFINITY;
  shownUntil = Number.NEGATIVE_INFINITY;
  hasOffsets = false;
  hasNegativeOffsets = false;
  #last = 0;
  #lastDuration = 0;
  readonly #chunk = { samples: 0, entry: 0 };
  #chunkCount = 0;
  /** A sample that can stand alone, for a gap that is longer than one sample can last. */
  readonly #key = { at: 0, size: 0, entry: 0 };
  #isFirstChunk = true;

  constructor({ format, isVideo, timescale }: Pick<InitTrack, 'format' | 'isVideo' | 'timescale'>) {
    this.format = format;
    this.isVideo = isVideo;
    this.timescale = timescale;
  }

  /** When what is there has been decoded. */
  get end(): number {
    return this.#last + this.#lastDuration;
  }

  /** Ticks from the first to the end of the last. */
  get duration(): number {
    return this.count === 0 ? 0 : this.end - this.first;
  }

  entryOf(bytes: Uint8Array): number {
    const known = this.entries.findIndex((entry) => Buffer.compare(entry.bytes, bytes) === 0);
    if (known >= 0) return known;
    return this.entries.push({ bytes, samples: 0 }) - 1;
  }

  /** `samples` follow that lie side by side in the file from `at` on, the first of them decoded at `time`. */
  chunk(chunk: { at: number; samples: number; entry: number; time: number }): void {
    const { at, samples, entry } = chunk;
    this.#fill(chunk.time);
    this.#addChunk(at, samples, entry);
    this.#isFirstChunk = this.count === 0;
  }

  sample(time: number, offset: number, size: number, isKey: boolean, duration: number, at: number): void {
    const decoded = this.#place(time);
    this.#addSample(decoded, offset, size, isKey);
    this.#lastDuration = Math.max(1, duration);
    this.lasting += duration;
    this.bytes += size;
    const shown = decoded + offset;
    if (this.#isFirstChunk && shown < this.shownFrom) this.shownFrom = shown;
    if (shown + this.#lastDuration > this.shownUntil) this.shownUntil = shown + this.#lastDuration;
    if (!isKey && this.count > 1) return;
    this.#key.at = at;
    this.#key.size = size;
    this.#key.entry = this.#chunk.entry;
  }

  /** What is still open in the tables is written. */
  close(): void {
    if (this.count === 0) return;
    this.durations.push(this.#lastDuration);
    this.durations.close();
    this.offsets.close();
  }

  /** Never before the sample decoded last. A time too far ahead is damaged, and the sample follows at once. */
  #place(time: number): number {
    if (this.count === 0) return time;
    const isSensible = time - this.end <= LONGEST * this.timescale;
    return Math.max(isSensible ? time : this.end, this.#last + 1);
  }

  /** A sample lasts 2^31 − 1 ticks at most, as players read them: a longer wait repeats what is seen or heard. */
  #fill(time: number): void {
    if (this.count === 0) return;
    const next = this.#place(time);
    while (next - this.#last > MOST) {
      const { at, size, entry } = this.#key;
      this.#addChunk(at, 1, entry);
      this.#addSample(this.#last + MOST, 0, size, true);
    }
  }

  #addChunk(at: number, samples: number, entry: number): void {
    this.places.pushLong(at);
    this.#chunkCount += 1;
    this.entries[entry].samples += samples;
    if (this.#chunk.samples === samples && this.#chunk.entry === entry) return;
    this.#chunk.samples = samples;
    this.#chunk.entry = entry;
    this.chunks.push(this.#chunkCount);
    this.chunks.push(samples);
    this.chunks.push(entry + 1);
  }

  #addSample(decoded: number, offset: number, size: number, isKey: boolean): void {
    if (this.count === 0) this.first = decoded;
    else this.durations.push(decoded - this.#last);
    this.#last = decoded;
    this.count += 1;
    this.sizes.push(size);
    if (isKey) this.keys.push(this.count);
    if (offset !== 0) this.hasOffsets = true;
    if (offset < 0) this.hasNegativeOffsets = true;
    this.offsets.push(offset);
  }
}

/** Seconds that one track may wait for another; a longer wait is a damaged time, and the track continues at once. */
const LONGEST = 86_400;
/** ffmpeg and others read 32 bits as signed. */
const MOST = 0x7fffffff;

/** A table of rows: how often a number comes, and which. */
class RunLengths {
  readonly words = new Words();
  #value = 0;
  #count = 0;

  push(value: number): void {
    if (value !== this.#value) this.close();
    this.#value = value;
    this.#count += 1;
  }

  close(): void {
    if (this.#count === 0) return;
    this.words.push(this.#count);
    this.words.push(this.#value);
    this.#count = 0;
  }
}

/** A growing list of big-endian 32-bit numbers, as boxes have them. In pieces, so that it is never copied to grow. */
export class Words {
  readonly #pieces: Uint8Array[] = [];
  #piece = new Uint8Array(FIRST);
  #view = new DataView(this.#piece.buffer);
  #at = 0;
  #count = 0;

  /** How many numbers there are. */
  get count(): number {
    return this.#count;
  }

  /** @param value −2^31..2^32 − 1 */
  push(value: number): void {
    if (this.#at === this.#piece.length) {
      this.#pieces.push(this.#piece);
      this.#piece = new Uint8Array(Math.min(this.#piece.length * 2, LARGEST));
      this.#view = new DataView(this.#piece.buffer);
      this.#at = 0;
    }
    this.#view.setUint32(this.#at, value);
    this.#at += 4;
    this.#count += 1;
  }

  /** @param value 0..2^53 − 1, in two of them */
  pushLong(value: number): void {
    this.push(Math.floor(value / 0x1_0000_0000));
    this.push(value % 0x1_0000_0000);
  }

  pieces(): readonly Uint8Array[] {
    return [...this.#pieces, this.#piece.subarray(0, this.#at)];
  }
}

/** Sizes of pieces, bytes. */
const FIRST = 0x400;
const LARGEST = 0x40000;
