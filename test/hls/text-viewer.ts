import { type MediaPlaylist, PlaylistChecker, parsePlaylist } from './checker.ts';
import type { Feed } from './feed.ts';
import { must } from './rules.ts';
import { type ReadCue, readWebVtt } from './web-vtt.ts';

/**
 * Sees every version of the playlist of a text track beside that of its source, fetches every part and segment once, and checks
 * them against each other.
 */
export class TextViewer {
  readonly checker = new PlaylistChecker({ isText: true });
  /** Cues by the URI of the part or segment that has them. */
  readonly files = new Map<string, ReadCue[]>();
  readonly #feed: Feed;
  readonly #name: string;
  #text = '';

  constructor(feed: Feed, name = 't1.m3u8') {
    this.#feed = feed;
    this.#name = name;
  }

  /** All cues that were in a segment, each once. */
  get cues(): ReadCue[] {
    const all = [...this.checker.segments.values()].flatMap(({ uri }) => this.files.get(uri) ?? []);
    return [...new Map(all.map((cue) => [JSON.stringify(cue), cue])).values()];
  }

  async look(): Promise<void> {
    const response = await this.#feed.output.serve(this.#name);
    if (response.status !== 200) return;
    const text = await response.text();
    if (text === this.#text) return;
    this.#text = text;
    const playlist = this.checker.see(text);
    const source = parsePlaylist(await this.#feed.text('source.m3u8'));
    must(
      JSON.stringify(shapeOf(playlist)) === JSON.stringify(shapeOf(source)),
      `the playlist of the text is that of its source, not ${text}`,
    );
    for (const segment of playlist.segments) if (!segment.isGap) await this.#see(segment);
    for (const { uri } of playlist.open.parts) await this.#read(uri);
  }

  async #see({ uri, parts }: MediaPlaylist['segments'][number]): Promise<void> {
    const whole = await this.#read(uri);
    if (parts.length === 0) return;
    const ofParts = new Set<string>();
    for (const part of parts) for (const cue of await this.#read(part.uri)) ofParts.add(JSON.stringify(cue));
    must(
      [...ofParts].toSorted().join() ===
        whole
          .map((cue) => JSON.stringify(cue))
          .toSorted()
          .join(),
      `${uri} has the cues of its parts`,
    );
  }

  async #read(uri: string): Promise<ReadCue[]> {
    const known = this.files.get(uri);
    if (known !== undefined) return known;
    const response = await this.#feed.output.serve(uri);
    must(response.status === 200, `${uri} is there, not ${response.status}`);
    must(response.headers.get('content-type') === 'text/vtt; charset=utf-8', `${uri} is WebVTT`);
    const cues = readWebVtt(await response.text());
    this.files.set(uri, cues);
    return cues;
  }
}

/** Everything that is the same in a playlist of text and that of its source. */
function shapeOf({ segments, open, reports: _, hint, ...numbers }: MediaPlaylist) {
  const lengths = (parts: MediaPlaylist['open']['parts']) => parts.map(({ duration }) => duration);
  return {
    ...numbers,
    isHinted: hint !== undefined,
    segments: segments.map(({ sequence, discontinuities, duration, isGap, wall, parts }) => ({
      ...{ sequence, discontinuities, duration, isGap, wall, parts: lengths(parts) },
    })),
    open: { sequence: open.sequence, parts: lengths(open.parts) },
  };
}
