import type { VideoSpec } from '../../../../core/ports/recorder.ts';
import {
  type IndexedSegment,
  type SegmentIndex,
  writeSegmentIndex,
} from '../../../../core/vod/segment-index.ts';
import { Rate } from '../../live/rate.ts';
import { join } from '../../mp4/box.ts';
import { FragmentCursor, type FragmentRun } from '../../mp4/fragment-reader.ts';
import { mapChunkOffsets } from '../../mp4/inspect/boxes.ts';
import { boxAround, type InitTrack } from '../../mp4/read-init.ts';
import type { FileIo } from '../thread/file-io.ts';
import { FILE_TYPE } from './layout.ts';
import { writeMoov } from './moov.ts';
import type { Inits } from './scan.ts';
import type { Steps } from './steps.ts';
import { TrackTable } from './track-table.ts';
import { videoSpec } from './video-spec.ts';
import { walkFile } from './walk.ts';

export interface FinishedFile {
  readonly size: number;
  /** `ftyp` and the moov in front: followed by the bytes `from` up to `to` of the file it is the same film. */
  readonly head: { readonly bytes: Uint8Array<ArrayBuffer>; readonly from: number; readonly to: number };
  /** `core/vod/segment-index.ts` */
  readonly index: Uint8Array<ArrayBuffer>;
  readonly spec: VideoSpec;
  /** Epoch ms of its first sample. */
  readonly startedAt: number;
}

/**
 * Writes the moov behind the extents, which end at `end`. The same file gives the same bytes, so a finish that was torn is
 * done again. Undefined: there are no samples. In memory is the moov, twice (100 MB each for a day of film).
 */
export function* finishFile(
  io: FileIo,
  file: { end: number; inits: Inits; segments: readonly IndexedSegment[] },
): Steps<FinishedFile | undefined> {
  const { end, inits, segments } = file;
  const film = new Film();
  yield* walkFile(io, {
    until: end,
    visitor: {
      run: (number) => film.run(inits.tracks[number]),
      fragment: (runs, { at }) => film.fragment(runs, at),
    },
  });
  const tracks = film.tracks
    .filter(({ count }) => count > 0)
    .sort((a, b) => Number(b.isVideo) - Number(a.isVideo));
  if (tracks.length === 0) return undefined;
  for (const track of tracks) track.close();
  const startedAt = segments[0].wallStart;
  yield;
  const head = join([FILE_TYPE, ...writeMoov(tracks, { startedAt })]);
  yield;
  const moov = head.subarray(FILE_TYPE.length);
  const size = end + moov.length;
  if (io.size > size) io.truncate(size);
  for (let at = 0; at < moov.length; at += pieceBytes) {
    io.write(end + at, moov.subarray(at, at + pieceBytes));
    yield;
  }
  mapChunkOffsets(boxAround('moov', moov, 8), (offset) => offset + moov.length);
  yield;
  return {
    size,
    head: { bytes: head, from: FILE_TYPE.length, to: end },
    index: writeSegmentIndex({ inits: inits.list, bandwidth: bandwidthOf(segments), segments }),
    spec: videoSpec(tracks, { size }),
    startedAt,
  };
}

/** Bytes of the moov that are written at once. */
const pieceBytes = 262_144;

export function bandwidthOf(segments: readonly IndexedSegment[]): SegmentIndex['bandwidth'] {
  const longest = segments.reduce((most, { duration }) => Math.max(most, duration), 0);
  // As a playlist says it: the greatest duration, rounded.
  const target = Math.max(1, Math.round(longest));
  const rate = new Rate();
  for (const { size, duration } of segments) if (duration > 0) rate.add(size, duration, target);
  return { average: rate.average, peak: rate.peak };
}

/**
 * Puts the runs of a recording file on one timeline without holes, and keeps the offsets between tracks within a run. The last
 * sample of a track that ends early, or is missing in a run, lasts until the track goes on. 0 is when the first picture is
 * shown, or the first sound heard where there is no picture.
 */
class Film {
  readonly tracks: TrackTable[] = [];
  #bound = new Map<number, Bound>();
  #isNew = true;
  /** From the clock of the run to the film's, seconds. */
  #shift = Number.NaN;

  /** Fragments of these tracks follow, continuous with nothing before. */
  run(tracks: readonly InitTrack[]): void {
    this.#bound = new Map(tracks.map((track) => [track.id, this.#bind(track)]));
    this.#isNew = true;
  }

  /** @param at where the fragment of these runs lies in the file */
  fragment(runs: readonly FragmentRun[], at: number): void {
    if (this.#isNew || runs.every((run) => this.#hasJumped(run))) this.#align(runs);
    this.#isNew = false;
    for (const run of runs) {
      const bound = this.#bound.get(run.track);
      if (bound === undefined) continue;
      const { table, entry } = bound;
      // One track that jumps while the others do not is damaged: it continues where it was.
      const shift = this.#hasJumped(run) ? table.end - run.dts : Math.round(this.#shift * table.timescale);
      bound.isGoing = true;
      table.chunk({ at: at + run.at, samples: run.rows.count, entry, time: run.dts + shift });
      const cursor = new FragmentCursor([run]);
      while (cursor.next()) {
        const { dts, size, isSync, duration } = cursor;
        table.sample(dts + shift, cursor.shift, size, isSync, duration, at + cursor.at);
      }
    }
  }

  #bind(track: InitTrack): Bound {
    // Sound at another rate is a track of its own: behind the first rate Chromium ends with "Unsupported midstream configuration
    // change", or with an error of its decoder.
    const { format, timescale } = track;
    let table = this.tracks.find((other) => other.format === format && other.timescale === timescale);
    if (table === undefined) {
      table = new TrackTable(track);
      this.tracks.push(table);
    }
    return { table, entry: table.entryOf(track.entry), isGoing: false };
  }

  /** Within a run a part begins where the one before ended; when no track does, the clock has jumped. */
  #hasJumped({ track, dts }: FragmentRun): boolean {
    const bound = this.#bound.get(track);
    if (bound === undefined || !bound.isGoing) return false;
    const { table } = bound;
    const away = (dts - table.end) / table.timescale + this.#shift;
    return away < -BACK || away > AHEAD;
  }

  /** Shifts what follows behind everything that is there, in decode and in display time. */
  #align(runs: readonly FragmentRun[]): void {
    let decoded = Number.POSITIVE_INFINITY;
    let shown = Number.POSITIVE_INFINITY;
    const starts = new Map<TrackTable, number>();
    for (const run of runs) {
      const bound = this.#bound.get(run.track);
      if (bound === undefined) continue;
      const start = run.dts / bound.table.timescale;
      starts.set(bound.table, start);
      decoded = Math.min(decoded, start);
      if (bound.table.isVideo) shown = Math.min(shown, shownFrom(run) / bound.table.timescale);
    }
    if (starts.size === 0) return;
    // Sound that comes long before the first picture is not cut off.
    const zero = shown - decoded <= TRIMMED ? shown : decoded;
    let shift = -zero;
    const written = this.tracks.filter(({ count }) => count > 0);
    if (written.length > 0) {
      shift = Number.NEGATIVE_INFINITY;
      for (const table of written) {
        shift = Math.max(shift, table.end / table.timescale - (starts.get(table) ?? decoded));
        if (!table.isVideo) continue;
        const until = table.shownUntil / table.timescale;
        shift = Math.max(shift, until - (Number.isFinite(shown) ? shown : decoded));
      }
    }
    this.#shift = shift;
    for (const bound of this.#bound.values()) bound.isGoing = false;
  }
}

interface Bound {
  readonly table: TrackTable;
  readonly entry: number;
  /** There was something of it since the last alignment. */
  isGoing: boolean;
}

/** Seconds by which a part may begin before or after the end of the one before: sound may be missing for a while. */
const BACK = 0.5;
const AHEAD = 60;
/** Seconds of sound before the first picture that are left out, so that both begin at 0. */
const TRIMMED = 0.5;

/** When the first picture of a run is shown, ticks. */
function shownFrom(run: FragmentRun): number {
  const cursor = new FragmentCursor([run]);
  let first = Number.POSITIVE_INFINITY;
  while (cursor.next()) first = Math.min(first, cursor.dts + cursor.shift);
  return first;
}
