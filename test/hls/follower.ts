import { type ListedSegment, type MediaPlaylist, PlaylistChecker, type PlaylistOptions } from './checker.ts';
import { MediaChecker } from './media-checker.ts';

/** Follows a live stream from reload to reload, fetches each file of its playlist once and checks all of it. */
export class Follower {
  readonly checker: PlaylistChecker;
  readonly media = new MediaChecker();
  readonly fetched = new Map<string, Uint8Array>();
  readonly #fetch: (uri: string) => Promise<Uint8Array>;
  #done = -1;

  /** @param fetch the bytes of a file that a playlist names; throws when it cannot be had. */
  constructor(fetch: (uri: string) => Promise<Uint8Array>, options: PlaylistOptions = {}) {
    this.#fetch = fetch;
    this.checker = new PlaylistChecker(options);
  }

  /** A playlist, or a delta update to the last. Throws at the first rule that it or one of its files breaks. */
  async see(text: string): Promise<MediaPlaylist> {
    const playlist = this.checker.see(text);
    for (const segment of [...playlist.segments, playlist.open]) {
      if (segment.sequence <= this.#done || segment.map === '') continue;
      if (isWhole(segment) && segment.isGap) continue;
      this.media.init(segment.map, await this.#once(segment.map));
      const parts: Uint8Array[] = [];
      for (const part of segment.parts) {
        const isNew = !this.fetched.has(part.uri);
        const bytes = await this.#once(part.uri);
        parts.push(bytes);
        if (isNew) this.media.part(part, { map: segment.map, bytes });
      }
      if (!isWhole(segment)) continue;
      this.media.segment(segment, { bytes: await this.#once(segment.uri), parts });
      this.#done = segment.sequence;
    }
    return playlist;
  }

  async #once(uri: string): Promise<Uint8Array> {
    const known = this.fetched.get(uri);
    if (known !== undefined) return known;
    const bytes = await this.#fetch(uri);
    this.fetched.set(uri, bytes);
    return bytes;
  }
}

function isWhole(segment: ListedSegment | MediaPlaylist['open']): segment is ListedSegment {
  return 'uri' in segment;
}
