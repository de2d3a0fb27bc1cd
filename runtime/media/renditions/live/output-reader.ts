import { copyBytes } from '../../../base/copy-bytes.ts';
import type { VideoConfig } from '../../codecs/config.ts';
import { MDAT, MOOF, MOOV } from '../../mp4/fragment-boxes.ts';
import {
  FragmentSamples,
  OFFSET,
  PTS,
  type SampleDefaults,
  SIZE,
  STRIDE,
  SYNC,
  TRACK,
} from '../../mp4/fragment-samples.ts';
import { Refusal, typeAt } from '../../mp4/inspect/boxes.ts';
import { readMovie } from '../../mp4/inspect/movie.ts';
import type { Arena } from '../../publish/sink.ts';
import { LadderBroken } from '../ladder.ts';
import { maxPictureBytes } from './picture-queue.ts';

/** Beyond these the output counts as unreadable. Bytes. */
const maxMovieBytes = 1_048_576;
const maxHeadBytes = 65_536;
const maxOtherBytes = 1_048_576;
/** ffmpeg is told to write one picture per fragment. */
const maxFragmentPictures = 1024;

/** One rendition, as the `moov` box of a process describes it. */
export interface OutputTrack extends SampleDefaults {
  readonly config: VideoConfig;
  /** AVCDecoderConfigurationRecord. */
  readonly record: Uint8Array;
}

/** Where what is read goes. Tracks are counted from 0. */
export interface OutputSink {
  onTracks(tracks: readonly OutputTrack[]): void;
  /** Where the bytes of the next picture of a track go: there is room for `size` more. */
  arenaOf(track: number, size: number): Arena;
  /** A picture lies in that arena from `start` on, its last bytes. `shown`: ticks. */
  onPicture(track: number, shown: number, start: number, isSync: boolean): void;
}

/**
 * Reads what a process writes, as it comes: `ftyp moov (moof mdat)*`, whatever lies between. Boxes that are looked into are copied
 * here; the bytes of a picture go into the arena of their track at once, and nowhere else. It runs where sockets are read.
 */
export class OutputReader {
  readonly #sink: OutputSink;
  readonly #count: number;
  readonly #fragment = new FragmentSamples({ most: maxFragmentPictures });
  #tracks: readonly OutputTrack[] | undefined;
  /** The head of a box, or a whole one that is looked into. */
  #scratch = new Uint8Array(1024);
  #view = new DataView(this.#scratch.buffer);
  #held = 0;
  #wanted = HEAD;
  /** Bytes of the box that are skipped. */
  #skipped = 0;
  /** Bytes of an `mdat` that are still to come. */
  #data = 0;
  /** Bytes since the last `moof` began, it included. */
  #since = 0;
  /** Pictures of the fragment that have come, and bytes of the one that is coming. */
  #done = 0;
  #got = 0;
  #arena: Arena | undefined;
  #isAwaited = false;

  /** @param options.tracks how many there must be */
  constructor(sink: OutputSink, options: { tracks: number }) {
    this.#sink = sink;
    this.#count = options.tracks;
  }

  /** The bytes that follow. Throws `LadderBroken`; nothing can be read after that. */
  take(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.#data > 0) at = this.#takeData(bytes, at);
      else if (this.#skipped > 0) {
        const count = Math.min(this.#skipped, bytes.length - at);
        this.#skipped -= count;
        at += count;
      } else at = this.#takeBox(bytes, at);
    }
  }

  #takeBox(bytes: Uint8Array, at: number): number {
    const count = Math.min(this.#wanted - this.#held, bytes.length - at);
    copyBytes(bytes, at, this.#scratch, this.#held, count);
    this.#held += count;
    if (this.#held < this.#wanted) return at + count;
    if (this.#held === HEAD) this.#begin();
    else this.#read();
    return at + count;
  }

  /** The head of a box is here, ISO/IEC 14496-12 4.2. Sizes of 64 bits are for what is larger than anything here. */
  #begin(): void {
    const size = this.#view.getUint32(0);
    const type = this.#view.getUint32(4);
    const limit = type === MOOV ? maxMovieBytes : type === MOOF ? maxHeadBytes : maxOtherBytes;
    if (size < HEAD || (type !== MDAT && size > limit))
      throw new LadderBroken(`a ${typeAt(this.#view, 4)} box has ${size} bytes`);
    if (type === MOOF) {
      this.#endFragment();
      if (this.#tracks === undefined) throw new LadderBroken('a fragment comes before the moov box');
      this.#since = 0;
    }
    this.#since += HEAD;
    if ((type === MOOV || type === MOOF) && size > HEAD) {
      this.#grow(size);
      this.#wanted = size;
      return;
    }
    this.#held = 0;
    if (type === MDAT) {
      if (!this.#isAwaited) throw new LadderBroken('an mdat box has no moof box before it');
      this.#isAwaited = false;
      this.#data = size - HEAD;
      const { table, count } = this.#fragment;
      const row = (count - 1) * STRIDE;
      const needed = count === 0 ? 0 : table[row + OFFSET] + table[row + SIZE] - this.#since;
      // Otherwise what follows would be swallowed without a word.
      if (this.#data < needed || this.#data > needed + maxOtherBytes)
        throw new LadderBroken(`an mdat box has ${size} bytes, for pictures of ${needed}`);
      // Of an empty one nothing comes that could be looked at.
      if (this.#data === 0) this.#endFragment();
    } else {
      this.#skipped = size - HEAD;
      this.#since += this.#skipped;
    }
  }

  /** A whole box is here. */
  #read(): void {
    const size = this.#held;
    this.#held = 0;
    this.#wanted = HEAD;
    this.#since += size - HEAD;
    if (this.#view.getUint32(4) === MOOV) {
      if (this.#tracks !== undefined) throw new LadderBroken('it has a second moov box');
      this.#tracks = readOutputMovie(this.#scratch.subarray(0, size), { count: this.#count });
      this.#sink.onTracks(this.#tracks);
      return;
    }
    this.#readFragment(size);
    this.#done = 0;
    this.#got = 0;
    this.#isAwaited = true;
  }

  /** Pictures must lie one behind the other, in the order of the box. */
  #readFragment(size: number): void {
    try {
      this.#fragment.read(this.#view, size, (id) => this.#tracks?.[id - 1]);
    } catch (error) {
      if (error instanceof RangeError) throw new LadderBroken(error.message);
      throw error;
    }
    const { table, count } = this.#fragment;
    let data = size + HEAD;
    for (let row = 0; row < count * STRIDE; row += STRIDE) {
      if (table[row + SIZE] === 0) throw new LadderBroken('a picture has no bytes');
      if (table[row + OFFSET] < data) throw new LadderBroken('pictures of a fragment lie over each other');
      data = table[row + OFFSET] + table[row + SIZE];
    }
  }

  #takeData(bytes: Uint8Array, from: number): number {
    const to = Math.min(bytes.length, from + this.#data);
    const { table, count } = this.#fragment;
    let at = from;
    while (at < to && this.#done < count) {
      const row = this.#done * STRIDE;
      const size = table[row + SIZE];
      const before = table[row + OFFSET] + this.#got - this.#since;
      if (before > 0) {
        const skipped = Math.min(before, to - at);
        this.#since += skipped;
        at += skipped;
        continue;
      }
      if (before < 0) throw new LadderBroken('a picture lies before the data of its fragment');
      this.#arena ??= this.#beginPicture(table[row + TRACK] - 1, size);
      const arena = this.#arena;
      const part = Math.min(size - this.#got, to - at);
      copyBytes(bytes, at, arena.bytes, arena.length, part);
      arena.length += part;
      this.#got += part;
      this.#since += part;
      at += part;
      if (this.#got < size) continue;
      const start = arena.messageStart;
      arena.messageStart = -1;
      this.#arena = undefined;
      this.#got = 0;
      this.#done += 1;
      this.#sink.onPicture(table[row + TRACK] - 1, table[row + PTS], start, table[row + SYNC] === 1);
    }
    this.#since += to - at;
    this.#data -= to - from;
    if (this.#data === 0) this.#endFragment();
    return to;
  }

  #beginPicture(track: number, size: number): Arena {
    if (size > maxPictureBytes) throw new LadderBroken(`a picture has ${size} bytes`);
    const arena = this.#sink.arenaOf(track, size);
    // Moves with what the arena gives back meanwhile.
    arena.messageStart = arena.length;
    return arena;
  }

  #endFragment(): void {
    if (this.#isAwaited || this.#done < this.#fragment.count)
      throw new LadderBroken('pictures of a fragment lie outside its data');
  }

  #grow(size: number): void {
    if (size <= this.#scratch.length) return;
    const grown = new Uint8Array(size);
    grown.set(this.#scratch.subarray(0, this.#held));
    this.#scratch = grown;
    this.#view = new DataView(grown.buffer);
  }
}

const HEAD = 8;

/** Tracks 1 to `count`, in that order. Anything else is broken. */
function readOutputMovie(bytes: Uint8Array, { count }: { count: number }): readonly OutputTrack[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  try {
    const { tracks, fragmentDefaults } = readMovie({ type: 'moov', view, from: HEAD, to: bytes.length });
    if (tracks.length !== count) throw new LadderBroken(`it has ${tracks.length} tracks, not ${count}`);
    return Array.from({ length: count }, (_, index) => {
      const track = tracks.find(({ id }) => id === index + 1);
      const defaults = fragmentDefaults?.get(index + 1);
      const entry = track?.entries[0];
      if (track === undefined || defaults === undefined || entry?.kind !== 'h264')
        throw new LadderBroken(`it has no track ${index + 1}`);
      if (track.timescale !== TICKS)
        throw new LadderBroken(`a track counts ${track.timescale} ticks a second, not ${TICKS}`);
      return { config: entry.config, record: entry.record.slice(), ...defaults };
    });
  } catch (error) {
    if (error instanceof Refusal) throw new LadderBroken(error.message);
    throw error;
  }
}

/** A second on the timeline of the source's pictures. */
const TICKS = 90_000;
