import { BoxStream } from '../ffmpeg/box-stream.ts';
import { type Box, Children, Fields } from '../mp4/inspect/boxes.ts';
import { readTimes, readTrackHead } from '../mp4/inspect/movie.ts';
import { boxAround } from '../mp4/read-init.ts';

/** Largest `moov` or `moof` box that ffmpeg may write. */
const maxBoxBytes = 4 * 1_048_576;

/** Watches a fragmented mp4 while it is written: how far it is, and how many pictures it has. */
export class FragmentScan {
  readonly #onMovie: (moov: Box) => void;
  readonly #boxes = new BoxStream({
    collected: { moov: maxBoxBytes, moof: maxBoxBytes },
    onBox: (type, bytes) => {
      const box = boxAround(type, bytes, 8);
      if (type === 'moov') this.#movie(box);
      else this.#fragment(box);
    },
  });
  #video: { readonly id: number; readonly timescale: number } | undefined;
  #first: number | undefined;
  /** Where the last fragment begins, seconds from the first. */
  time = 0;
  /** Pictures before that. */
  pictures = 0;
  #open = 0;
  /** The index of the whole has come. */
  hasMovie = false;

  /** There is a video track, and nothing in it. */
  get isBlind(): boolean {
    return this.#video !== undefined && this.pictures + this.#open === 0;
  }

  /** @param options `onMovie`: called once; may throw */
  constructor(options: { onMovie(moov: Box): void }) {
    this.#onMovie = options.onMovie;
  }

  /** Throws what `onMovie` throws, and Refusal or RangeError when this is no mp4. */
  take(bytes: Uint8Array): void {
    this.#boxes.take(bytes);
  }

  #movie(moov: Box): void {
    for (const trak of new Children(moov).all.filter(({ type }) => type === 'trak')) {
      const { id, handler, mdia } = readTrackHead(new Children(trak));
      if (handler !== 'vide' || this.#video) continue;
      this.#video = { id, timescale: Math.max(1, readTimes(mdia.need('mdhd')).timescale) };
    }
    this.#onMovie(moov);
    this.hasMovie = true;
  }

  #fragment(moof: Box): void {
    for (const traf of new Children(moof).all.filter(({ type }) => type === 'traf')) {
      const children = new Children(traf);
      const head = new Fields(children.need('tfhd'));
      head.full();
      if (head.u32() !== this.#video?.id) continue;
      const decode = new Fields(children.need('tfdt'));
      const at = (decode.full().version === 1 ? decode.u64() : decode.u32()) / this.#video.timescale;
      this.#first ??= at;
      this.time = at - this.#first;
      this.pictures += this.#open;
      this.#open = 0;
      for (const trun of children.all.filter(({ type }) => type === 'trun')) {
        const fields = new Fields(trun);
        fields.full();
        this.#open += fields.u32();
      }
    }
  }
}
