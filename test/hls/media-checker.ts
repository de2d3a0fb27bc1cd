import { type InitTrack, type ParsedRun, readFragments, readInit } from './boxes.ts';
import type { ListedPart, ListedSegment } from './checker.ts';
import { must } from './rules.ts';
import { isKeyFrame } from './sample-entry.ts';

/** Between what a playlist says and what the media lasts, seconds. */
const TOLERANCE = 0.001;

/**
 * Follows the files of one playlist and checks them against it and against each other: inits, parts as they
 * come, segments in the order of their numbers. Throws when a rule is broken.
 */
export class MediaChecker {
  /** Every run of every segment, in order. */
  readonly runs: (ParsedRun & { sequence: number })[] = [];
  readonly #inits = new Map<string, InitTrack[]>();
  /** Where each track of the timeline ends, ticks. */
  readonly #ends = new Map<number, number>();
  #fragment = 0;
  #last: ListedSegment | undefined;
  /** Epoch milliseconds of the timeline's time 0. */
  #epoch: number | undefined;
  readonly #borrows: boolean;

  /** @param options `borrows`: the map changes also where a rendition shows its source; the tracks stay what they were */
  constructor({ borrows = false } = {}) {
    this.#borrows = borrows;
  }

  init(uri: string, bytes: Uint8Array): InitTrack[] {
    const tracks = readInit(bytes);
    must(JSON.stringify(this.#inits.get(uri) ?? tracks) === JSON.stringify(tracks), `${uri} does not change`);
    this.#inits.set(uri, tracks);
    return tracks;
  }

  /** A part, as soon as it is fetched. Its init must have been seen. */
  part(part: ListedPart, options: { map: string; bytes: Uint8Array }): void {
    const fragments = readFragments(options.bytes);
    must(fragments.length === 1, `${part.uri} is one fragment, not ${fragments.length}`);
    const lead = this.#lead(options.map, { runs: fragments[0].runs, uri: part.uri });
    const lasts = (lead.run.end - lead.run.start) / lead.track.timescale;
    must(Math.abs(lasts - part.duration) <= TOLERANCE, `${part.uri} lasts ${part.duration}, not ${lasts}`);
    const isIndependent = lead.run.samples.some(({ isSync }) => isSync);
    must(isIndependent === part.isIndependent, `${part.uri} is ${isIndependent ? '' : 'not '}INDEPENDENT`);
  }

  /**
   * A segment; `parts`: those of its parts that were fetched, by their index. `hasNoParts`: no playlist ever said how many
   * there are.
   */
  segment(
    segment: ListedSegment,
    options: { bytes: Uint8Array; parts: readonly (Uint8Array | undefined)[]; hasNoParts?: boolean },
  ): void {
    const { bytes, parts, hasNoParts = false } = options;
    const fragments = readFragments(bytes);
    must(
      hasNoParts ? fragments.length > 0 : fragments.length === Math.max(1, segment.parts.length),
      `${segment.uri} has a fragment for each part`,
    );
    if (parts.length > 0 && parts.every((part) => part !== undefined))
      must(Buffer.concat(parts as Uint8Array[]).equals(bytes), `the parts of ${segment.uri} are its bytes`);
    this.#begin(segment);
    let lasts = 0;
    for (const { sequence, runs } of fragments) {
      const { run, track } = this.#lead(segment.map, { runs, uri: segment.uri });
      must(
        this.#fragment === 0 || sequence === this.#fragment + 1,
        `mfhd of ${segment.uri} says ${sequence} after ${this.#fragment}`,
      );
      this.#fragment = sequence;
      const wall = segment.wall === undefined ? undefined : segment.wall + lasts * 1000;
      if (wall !== undefined) this.#date(wall - (run.start / track.timescale) * 1000, segment.uri);
      lasts += (run.end - run.start) / track.timescale;
      for (const each of runs) this.#follow(each, segment);
    }
    must(
      Math.abs(lasts - segment.duration) <= TOLERANCE,
      `${segment.uri} lasts ${segment.duration}, not ${lasts}`,
    );
    this.#last = segment;
  }

  /** A new timeline behind a discontinuity; and what was missed is not followed. */
  #begin(segment: ListedSegment): void {
    const last = this.#last;
    const isNext = last !== undefined && last.sequence + 1 === segment.sequence;
    must(last === undefined || segment.sequence > last.sequence, `${segment.uri} comes in its order`);
    if (last?.discontinuities !== segment.discontinuities) {
      this.#epoch = undefined;
      this.#fragment = 0;
      this.#ends.clear();
    } else if (!isNext) {
      this.#fragment = 0;
      this.#ends.clear();
    } else if (this.#borrows)
      must(this.#kindOf(last.map) === this.#kindOf(segment.map), `the tracks stay in ${segment.uri}`);
    else must(last.map === segment.map, `the map changes only behind a discontinuity, not in ${segment.uri}`);
  }

  /** What RFC 8216bis 4.4.4.3 wants a discontinuity for. */
  #kindOf(map: string): string {
    const tracks = this.#inits.get(map) ?? [];
    return JSON.stringify(tracks.map(({ id, handler, timescale }) => [id, handler, timescale]));
  }

  #date(epoch: number, uri: string): void {
    const off = epoch - (this.#epoch ?? epoch);
    must(Math.abs(off) <= 3, `the date of ${uri} is off from its media by ${off} ms`);
    this.#epoch ??= epoch;
  }

  #follow(run: ParsedRun, segment: ListedSegment): void {
    const end = this.#ends.get(run.track);
    must(
      end === undefined || end === run.start,
      `track ${run.track} ends at ${end} and goes on at ${run.start} in ${segment.uri}`,
    );
    this.#ends.set(run.track, run.end);
    this.runs.push({ ...run, sequence: segment.sequence });
  }

  /** The run that the playlist counts by: that of the picture, or of the sound when there is none. */
  #lead(
    map: string,
    options: { runs: readonly ParsedRun[]; uri: string },
  ): { run: ParsedRun; track: InitTrack } {
    const { runs, uri } = options;
    const tracks = this.#inits.get(map);
    if (tracks === undefined) throw new Error(`the map of ${uri}, ${map}, was not seen`);
    must(new Set(runs.map(({ track }) => track)).size === runs.length, `${uri} has each track once`);
    for (const run of runs) {
      const track = tracks.find(({ id }) => id === run.track);
      if (track === undefined) throw new Error(`track ${run.track} of ${uri} is not in its init`);
      must(run.samples.length > 0, `a run of ${uri} has samples`);
      for (const { bytes, isSync } of run.samples) {
        const isKey = track.handler === 'vide' ? isKeyFrame(bytes, track.entry) : true;
        must(
          isKey === undefined || isKey === isSync,
          `a ${isKey ? '' : 'non-'}key frame of ${uri} is flagged so`,
        );
      }
    }
    const track = tracks.find(({ handler }) => handler === 'vide') ?? tracks[0];
    const run = runs.find((candidate) => candidate.track === track.id);
    if (run === undefined) throw new Error(`${uri} lacks its leading track`);
    return { run, track };
  }
}
