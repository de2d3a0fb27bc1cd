import type { VideoConfig } from '../../codecs/config.ts';
import { BoxStream } from '../../ffmpeg/box-stream.ts';
import { FragmentCursor, readFragment, type SampleDefaults } from '../../mp4/fragment-reader.ts';
import { type Box, Refusal } from '../../mp4/inspect/boxes.ts';
import { readMovie } from '../../mp4/inspect/movie.ts';
import { boxAround } from '../../mp4/read-init.ts';
import { LadderBroken } from '../ladder.ts';
import { maxPictureBytes } from './picture-queue.ts';

/** Bytes. Beyond these the output counts as unreadable. */
const collected = { moov: 1_048_576, moof: 65_536, mdat: maxPictureBytes };
const maxOtherBytes = 1_048_576;
/** The options make ffmpeg write one picture per fragment. */
const maxFragmentPictures = 1024;
/** Ticks a second on the timeline of the source's pictures. */
const ticks = 90_000;
/** Bytes of the head of a box. */
const headBytes = 8;

/** One rendition, as the `moov` box of a process describes it. */
export interface OutputTrack extends SampleDefaults {
  readonly config: VideoConfig;
  /** AVCDecoderConfigurationRecord. */
  readonly record: Uint8Array;
}

/** Receives what is read. Tracks are counted from 0. */
export interface OutputSink {
  onTracks(tracks: readonly OutputTrack[]): void;
  /** `bytes` are valid during the call. `shown`: ticks. */
  onPicture(track: number, bytes: Uint8Array, shown: number, isSync: boolean): void;
}

/** Reads what a process writes, as it comes: `ftyp moov (moof mdat)*`, and other boxes before a `moof`. */
export class OutputReader {
  readonly #sink: OutputSink;
  readonly #count: number;
  /** Of the `moof` box whose `mdat` comes next. */
  #pictures: Picture[] = [];
  readonly #boxes = new BoxStream({
    collected,
    skipped: maxOtherBytes,
    onBox: (type, bytes) => this.#read(type, bytes),
  });
  #tracks: readonly OutputTrack[] | undefined;
  /** Bytes of the `moof` box whose `mdat` comes next; 0: there is none. */
  #moofBytes = 0;

  /** @param options.tracks how many there must be */
  constructor(sink: OutputSink, options: { tracks: number }) {
    this.#sink = sink;
    this.#count = options.tracks;
  }

  /** The bytes that follow. Throws `LadderBroken`; nothing can be read after that. */
  take(bytes: Uint8Array): void {
    try {
      this.#boxes.take(bytes);
    } catch (error) {
      const isUnreadable = error instanceof RangeError || error instanceof Refusal;
      throw isUnreadable ? new LadderBroken(error.message) : error;
    }
  }

  #read(type: string, bytes: Uint8Array): void {
    if (type === 'mdat') return void this.#readPictures(bytes);
    if (this.#moofBytes > 0) throw new LadderBroken('a moof box has no mdat box behind it');
    const box = boxAround(type, bytes, headBytes);
    if (type === 'moof') {
      if (this.#tracks === undefined) throw new LadderBroken('a fragment comes before the moov box');
      this.#pictures = readPictures(box, this.#tracks);
      this.#moofBytes = bytes.length;
    } else {
      if (this.#tracks !== undefined) throw new LadderBroken('it has a second moov box');
      this.#tracks = readTracks(box, { count: this.#count });
      this.#sink.onTracks(this.#tracks);
    }
  }

  #readPictures(mdat: Uint8Array): void {
    if (this.#moofBytes === 0) throw new LadderBroken('an mdat box has no moof box before it');
    for (const { track, at, size, shown, isSync } of this.#pictures) {
      const from = at - this.#moofBytes;
      if (size === 0 || from < headBytes || from + size > mdat.length)
        throw new LadderBroken(`a picture of ${size} bytes lies outside its mdat box of ${mdat.length}`);
      this.#sink.onPicture(track, mdat.subarray(from, from + size), shown, isSync);
    }
    this.#moofBytes = 0;
  }
}

interface Picture {
  readonly track: number;
  /** Where it lies, from the `moof` box on. */
  readonly at: number;
  readonly size: number;
  /** Ticks. */
  readonly shown: number;
  readonly isSync: boolean;
}

function readPictures(moof: Box, tracks: readonly SampleDefaults[]): Picture[] {
  const trackOf = (id: number) => {
    const defaults = tracks[id - 1];
    return defaults && { defaults };
  };
  const cursor = new FragmentCursor(readFragment(moof, { at: 0, most: maxFragmentPictures, trackOf }));
  const pictures: Picture[] = [];
  while (cursor.next()) {
    const { track, at, size, dts, shift, isSync } = cursor;
    pictures.push({ track: track - 1, at, size, shown: dts + shift, isSync });
  }
  return pictures;
}

/** Tracks 1 to `count`, in that order. Anything else is broken. */
function readTracks(moov: Box, { count }: { count: number }): readonly OutputTrack[] {
  const { tracks, fragmentDefaults } = readMovie(moov);
  if (tracks.length !== count) throw new LadderBroken(`it has ${tracks.length} tracks, not ${count}`);
  return Array.from({ length: count }, (_, index) => {
    const track = tracks.find(({ id }) => id === index + 1);
    const defaults = fragmentDefaults?.get(index + 1);
    const entry = track?.entries[0];
    if (track === undefined || defaults === undefined || entry?.kind !== 'h264')
      throw new LadderBroken(`it has no track ${index + 1}`);
    if (track.timescale !== ticks)
      throw new LadderBroken(`a track counts ${track.timescale} ticks a second, not ${ticks}`);
    return { config: entry.config, record: entry.record.slice(), ...defaults };
  });
}
