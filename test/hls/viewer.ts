import type { ParsedRun } from './boxes.ts';
import { type ListedSegment, PlaylistChecker } from './checker.ts';
import type { Feed } from './feed.ts';
import { MediaChecker } from './media-checker.ts';

/** Sees every version of a playlist, fetches every part and segment once and checks them all. */
export class Viewer {
  readonly checker = new PlaylistChecker();
  readonly fetched = new Map<string, Uint8Array>();
  readonly #feed: Feed;
  readonly #media = new MediaChecker();
  #text = '';

  constructor(feed: Feed) {
    this.#feed = feed;
  }

  /** The playlist as it is, once there is one. */
  async look(): Promise<void> {
    if (!this.#feed.output.isPlayable) return;
    const text = await this.#feed.text('source.m3u8');
    if (text === this.#text) return;
    this.#text = text;
    const playlist = this.checker.see(text);
    for (const segment of playlist.segments) if (!this.fetched.has(segment.uri)) await this.#take(segment);
    for (const part of playlist.open.parts) await this.#once(part.uri);
  }

  get runs(): MediaChecker['runs'] {
    return this.#media.runs;
  }

  get segments(): ListedSegment[] {
    return [...this.checker.segments.values()];
  }

  /** Samples of a track over all segments. */
  samples(track: number): ParsedRun['samples'][number][] {
    return this.runs.filter((run) => run.track === track).flatMap((run) => run.samples);
  }

  async #once(uri: string): Promise<Uint8Array> {
    const known = this.fetched.get(uri);
    if (known !== undefined) return known;
    const bytes = await this.#feed.bytes(uri);
    this.fetched.set(uri, bytes);
    return bytes;
  }

  async #take(segment: ListedSegment): Promise<void> {
    const parts: Uint8Array[] = [];
    for (const part of segment.parts) parts.push(await this.#once(part.uri));
    const bytes = await this.#once(segment.uri);
    this.#media.init(segment.map, await this.#once(segment.map));
    segment.parts.forEach((part, i) => {
      this.#media.part(part, { map: segment.map, bytes: parts[i] });
    });
    this.#media.segment(segment, { bytes, parts });
  }
}
