import { type Box, Children, Fields, typeAt } from '../mp4/inspect/boxes.ts';
import { readTimes } from '../mp4/inspect/movie.ts';

/** Largest `moov` or `moof` box that ffmpeg may write. */
const maxBoxBytes = 4 * 1_048_576;

/** What can be said of an mp4 in fragments while it is written: how far it is, and how many pictures that took. */
export class FragmentScan {
  readonly #onMovie: (moov: Box) => void;
  #video: { readonly id: number; readonly timescale: number } | undefined;
  /** Bytes of a header, or of a box that is looked into, and how many of them are missing. */
  #kept: Uint8Array[] = [];
  #missing = SHORT;
  /** Bytes of a box that still come and do not matter. */
  #skipped = 0;
  #first: number | undefined;
  /** Where the last fragment begins, seconds from the first. */
  time = 0;
  /** Pictures before that. */
  pictures = 0;
  #open = 0;
  /** The index of the whole has come. */
  hasMovie = false;

  /** There is a track of pictures, and nothing in it. */
  get isBlind(): boolean {
    return this.#video !== undefined && this.pictures + this.#open === 0;
  }

  /** @param options `onMovie`: called once; may throw */
  constructor(options: { onMovie(moov: Box): void }) {
    this.#onMovie = options.onMovie;
  }

  /** What `onMovie` throws; Refusal and RangeError of what is no mp4. */
  take(bytes: Uint8Array): void {
    let rest = bytes;
    while (rest.length > 0) {
      const taken = Math.min(this.#skipped > 0 ? this.#skipped : this.#missing, rest.length);
      if (this.#skipped > 0) this.#skipped -= taken;
      else {
        this.#kept.push(rest.slice(0, taken));
        this.#missing -= taken;
        if (this.#missing === 0) this.#next();
      }
      rest = rest.subarray(taken);
    }
  }

  /** What is kept is a header, a longer one, or a whole box. */
  #next(): void {
    const bytes = new Uint8Array(Buffer.concat(this.#kept));
    this.#kept = [bytes];
    const view = new DataView(bytes.buffer);
    const isLong = view.getUint32(0) === 1;
    if (isLong && bytes.length < LONG) {
      this.#missing = LONG - bytes.length;
      return;
    }
    const size = isLong ? view.getUint32(8) * 2 ** 32 + view.getUint32(12) : view.getUint32(0);
    const type = typeAt(view, 4);
    const isRead = type === 'moov' || type === 'moof';
    if (size < bytes.length || (isRead && size > maxBoxBytes))
      throw new RangeError(`a ${type} box of ${size} bytes`);
    if (isRead && bytes.length < size) {
      this.#missing = size - bytes.length;
      return;
    }
    this.#kept = [];
    this.#missing = SHORT;
    this.#skipped = size - bytes.length;
    const box = { type, view, from: isLong ? LONG : SHORT, to: bytes.length };
    if (type === 'moov') this.#movie(box);
    if (type === 'moof') this.#fragment(box);
  }

  #movie(moov: Box): void {
    for (const trak of new Children(moov).all.filter(({ type }) => type === 'trak')) {
      const mdia = new Children(new Children(trak).need('mdia'));
      const handler = new Fields(mdia.need('hdlr'));
      handler.skip(8);
      if (handler.type() !== 'vide' || this.#video) continue;
      const tkhd = new Fields(new Children(trak).need('tkhd'));
      tkhd.skip(tkhd.full().version === 1 ? 16 : 8);
      this.#video = { id: tkhd.u32(), timescale: Math.max(1, readTimes(mdia.need('mdhd')).timescale) };
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

/** Headers of a box (ISO/IEC 14496-12 4.2). */
const SHORT = 0x8;
const LONG = 0x10;
