import { find, type ParsedRun, readFragments, readInit } from './boxes.ts';
import { type ListedSegment, PlaylistChecker } from './checker.ts';
import type { Feed } from './feed.ts';

/** Sees every version of a playlist, fetches every part and segment once and checks them all. */
export class Viewer {
  readonly checker = new PlaylistChecker();
  readonly runs: (ParsedRun & { sequence: number })[] = [];
  readonly fetched = new Map<string, Uint8Array>();
  readonly #feed: Feed;
  readonly #ends = new Map<number, number>();
  #discontinuities = -1;
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
    if (parts.length > 0 && !Buffer.concat(parts).equals(bytes))
      throw new Error(`the parts of ${segment.uri} are not its bytes`);
    const tracks = readInit(await this.#once(segment.map));
    if (segment.discontinuities !== this.#discontinuities) this.#ends.clear();
    this.#discontinuities = segment.discontinuities;
    const fragments = readFragments(bytes);
    fragments.forEach((fragment, i) => {
      for (const run of fragment.runs) {
        const expected = this.#ends.get(run.track);
        if (expected !== undefined && expected !== run.start)
          throw new Error(
            `track ${run.track} ends at ${expected} and goes on at ${run.start} in ${segment.uri}`,
          );
        this.#ends.set(run.track, run.end);
        this.runs.push({ ...run, sequence: segment.sequence });
      }
      const lead = tracks[0];
      const run = fragment.runs.find((candidate) => candidate.track === lead.id);
      if (run === undefined) throw new Error(`part ${i} of ${segment.uri} lacks its leading track`);
      // The first segment of a publish is listed without its part.
      if (segment.parts.length === 0) return;
      const lasts = (run.end - run.start) / lead.timescale;
      if (Math.abs(lasts - segment.parts[i].duration) > 1e-5) throw new Error(`part lasts ${lasts}`);
      if (run.samples[0].isSync !== segment.parts[i].isIndependent) throw new Error('INDEPENDENT is wrong');
    });
    if (find(bytes, 'moof').length !== Math.max(1, segment.parts.length))
      throw new Error('one fragment per part');
  }
}
