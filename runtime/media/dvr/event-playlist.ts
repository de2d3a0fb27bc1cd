import {
  dateLine,
  discontinuityLine,
  mapLine,
  mediaHead,
  multivariantPlaylist,
  segmentLines,
} from '../../../core/hls/playlist.ts';
import { Rate } from '../live/rate.ts';
import type { WrittenRecording } from '../recording/feed.ts';

export interface EventPlaylistOptions {
  /** Begins every file name. */
  readonly prefix: string;
  /** The numbers with which it begins. */
  readonly first: PlaylistNumbers;
  /** Segments rendered by one `advance`. */
  readonly chunk: number;
  /** Most segments listed; beyond, the oldest go, a chunk at a time. */
  readonly most: number;
}

export interface PlaylistNumbers {
  readonly sequence: number;
  readonly discontinuities: number;
  readonly init: number;
}

/**
 * The EVENT playlist (RFC 8216bis 4.4.3.5) of a take that grows: every whole segment, no parts. Text that was rendered
 * once is kept as bytes; another segment costs its own lines.
 */
export class EventPlaylist {
  /** It may be seen through another object from publish to publish; what it has stays. */
  take: WrittenRecording;
  readonly #options: EventPlaylistOptions;
  /** Whole chunks of text, those behind the first `dropped`. */
  readonly #chunks: Chunk[] = [];
  #dropped = 0;
  #droppedDiscontinuities = 0;
  #open = '';
  /** Segments rendered. */
  count = 0;
  /** Tags of discontinuity rendered. */
  discontinuities = 0;
  #bytes = 0;
  #longest = 0;
  readonly #rate = new Rate();
  #whole: { count: number; target: number; blob: Blob } | undefined;

  constructor(take: WrittenRecording, options: EventPlaylistOptions) {
    this.take = take;
    this.#options = options;
  }

  /** Bytes of text that are kept, the answer among them. */
  get bytes(): number {
    return 2 * (this.#bytes + this.#open.length);
  }

  /** There is more in the take than one `advance` renders. */
  get isFarBehind(): boolean {
    return this.take.count - this.count > this.#options.chunk;
  }

  /** Renders what the take has more than before, a chunk at most. `target` as for `whole`. */
  advance(target: number): void {
    const { take } = this;
    const { chunk, most } = this.#options;
    const until = Math.min(take.count, this.count + chunk);
    while (this.count < until) {
      const segment = take.segment(this.count);
      this.#open += this.#lines(this.count);
      if (this.#isDiscontinuity(this.count)) this.discontinuities += 1;
      this.#longest = Math.max(this.#longest, Math.round(segment.duration + 0.000_005));
      this.#rate.add(segment.size, segment.duration, Math.max(target, this.#longest));
      this.count += 1;
      if (this.count % chunk === 0) this.#closeChunk();
    }
    while ((this.#chunks.length - 1) * chunk >= most) this.#dropChunk();
  }

  /** The whole playlist, as bytes that all answers share. `target`: seconds that no segment may exceed, as far as is known. */
  whole(target: number): Blob {
    const known = this.#whole;
    if (known !== undefined && known.count === this.count && known.target === target) return known.blob;
    const head = this.#head(target, { isWhole: true });
    const blob = new Blob([head, ...this.#chunks.map(({ text }) => text), this.#open]);
    this.#whole = { count: this.count, target, blob };
    return blob;
  }

  /** A delta update (RFC 8216bis 6.2.5.1); undefined where nothing would be skipped. */
  delta(target: number): string | undefined {
    let from = this.count;
    for (let left = this.#skipBoundary(target); from > this.#first && left > 0; ) {
      from -= 1;
      left -= this.take.segment(from).duration;
    }
    const skipped = from - this.#first;
    if (skipped === 0) return undefined;
    let text = `${this.#head(target, { isWhole: false })}#EXT-X-SKIP:SKIPPED-SEGMENTS=${skipped}\n`;
    for (let number = from; number < this.count; number += 1) text += this.#lines(number);
    return text;
  }

  /** A multivariant playlist of which this is the one variant, under the name `uri`. */
  multivariant(uri: string): string {
    const { take } = this;
    const { peak, average } = this.#rate;
    const init = take.inits[take.segment(this.count - 1).init];
    const all = new Set(take.inits.flatMap(({ codecs }) => codecs));
    const codecs = all.size > MOST_CODECS ? init.codecs : [...all];
    const variant = { ...init, codecs, bandwidth: { peak, average } };
    return multivariantPlaylist([{ variant, uri }], { version: 9 });
  }

  /** Place in the take of the first segment listed. */
  get #first(): number {
    return this.#dropped * this.#options.chunk;
  }

  #head(target: number, options: { isWhole: boolean }): string {
    const { first } = this.#options;
    const longest = Math.max(target, this.#longest);
    const from = this.#first;
    // What is listed from its beginning is an EVENT: nothing of it ever goes.
    const type = from === 0 ? '#EXT-X-PLAYLIST-TYPE:EVENT\n' : '';
    const map =
      options.isWhole && from > 0 && !this.#hasMap(from) ? this.#mapLine(this.take.segment(from).init) : '';
    return (
      `${mediaHead({ version: 9, target: longest })}${type}` +
      `#EXT-X-SERVER-CONTROL:CAN-SKIP-UNTIL=${this.#skipBoundary(target).toFixed(1)}\n` +
      `#EXT-X-MEDIA-SEQUENCE:${first.sequence + from}\n` +
      `#EXT-X-DISCONTINUITY-SEQUENCE:${first.discontinuities + this.#droppedDiscontinuities}\n${map}`
    );
  }

  /** Seconds: six target durations, the least that RFC 8216bis 4.4.3.8 allows. */
  #skipBoundary(target: number): number {
    return 6 * Math.max(target, this.#longest);
  }

  #lines(number: number): string {
    const { prefix, first } = this.#options;
    const { duration, wallStart, init } = this.take.segment(number);
    return (
      (this.#isDiscontinuity(number) ? discontinuityLine : '') +
      (this.#hasMap(number) ? this.#mapLine(init) : '') +
      dateLine(wallStart) +
      segmentLines({ duration, uri: segmentName(prefix, first.sequence + number) })
    );
  }

  #mapLine(init: number): string {
    const { prefix, first } = this.#options;
    return mapLine(initName(prefix, first.init + init));
  }

  /** Nothing is before the first of all, so nothing is interrupted. */
  #isDiscontinuity(number: number): boolean {
    return number > 0 && this.take.segment(number).isDiscontinuity;
  }

  #hasMap(number: number): boolean {
    const { take } = this;
    return number === 0 || take.segment(number).init !== take.segment(number - 1).init;
  }

  #closeChunk(): void {
    const text = Buffer.from(this.#open);
    this.#chunks.push({ text, discontinuities: this.discontinuities });
    this.#bytes += text.length;
    this.#open = '';
  }

  #dropChunk(): void {
    const chunk = this.#chunks.shift();
    if (chunk === undefined) return;
    this.#bytes -= chunk.text.length;
    this.#dropped += 1;
    this.#droppedDiscontinuities = chunk.discontinuities;
  }
}

interface Chunk {
  readonly text: Uint8Array<ArrayBuffer>;
  /** Rendered up to its end. */
  readonly discontinuities: number;
}

export const DVR_PLAYLIST = 'dvr.m3u8';

function segmentName(prefix: string, sequence: number): string {
  return `${prefix}_dvr${sequence}.mp4`;
}

function initName(prefix: string, id: number): string {
  return `${prefix}_dvrinit${id}.mp4`;
}

export interface DvrFile {
  readonly isInit: boolean;
  readonly number: number;
}

/** The inverse; undefined for any other name. */
export function parseDvrName(file: string, prefix: string): DvrFile | undefined {
  if (!file.startsWith(prefix)) return undefined;
  const match = /^_dvr(init)?(0|[1-9]\d{0,14})\.mp4$/.exec(file.slice(prefix.length));
  return match ? { isInit: match[1] !== undefined, number: Number(match[2]) } : undefined;
}

/** Codecs of one recording that CODECS names; beyond, it names those of the newest segment alone. */
const MOST_CODECS = 8;
