import type { ParsedRun } from './boxes.ts';
import type { ListedSegment, PlaylistOptions } from './checker.ts';
import type { Feed } from './feed.ts';
import { Follower } from './follower.ts';
import type { MediaChecker } from './media-checker.ts';

/** Sees every version of a feed's playlist, fetches every part and segment once and checks them all. */
export class Viewer {
  readonly #feed: Feed;
  readonly #playlist: string;
  readonly #follower: Follower;
  #text = '';

  /** @param options.playlist which of its media playlists */
  constructor(feed: Feed, options: PlaylistOptions & { playlist?: string } = {}) {
    this.#feed = feed;
    this.#playlist = options.playlist ?? 'source.m3u8';
    this.#follower = new Follower((uri) => feed.bytes(uri), options);
  }

  /** The playlist as it is, once there is one. */
  async look(): Promise<void> {
    const response = await this.#feed.output.serve(this.#playlist);
    if (response.status !== 200) return;
    const text = await response.text();
    if (text === this.#text) return;
    this.#text = text;
    await this.#follower.see(text);
  }

  get checker(): Follower['checker'] {
    return this.#follower.checker;
  }

  get fetched(): Follower['fetched'] {
    return this.#follower.fetched;
  }

  get runs(): MediaChecker['runs'] {
    return this.#follower.media.runs;
  }

  get segments(): ListedSegment[] {
    return [...this.checker.segments.values()];
  }

  /** Samples of a track over all segments. */
  samples(track: number): ParsedRun['samples'][number][] {
    return this.runs.filter((run) => run.track === track).flatMap((run) => run.samples);
  }
}
