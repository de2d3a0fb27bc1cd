import { FragmentCursor, type FragmentRun } from '../../mp4/fragment-reader.ts';
import type { InitTrack } from '../../mp4/read-init.ts';
import { TrackTable } from './track-table.ts';

/**
 * Puts the runs of a recording file on one timeline without holes, and keeps the offsets between tracks within a run. The last
 * sample of a track that ends early, or is missing in a run, lasts until the track goes on. 0 is when the first picture is
 * shown, or the first sound heard where there is no picture.
 */
export class Film {
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
