import { type FragmentRun, readFragment, type SampleDefaults } from '../fragment-reader.ts';
import { type Box, Refusal } from './boxes.ts';
import type { Movie, Track } from './movie.ts';
import { type Measure, maxSampleSeconds, maxSamples } from './samples.ts';

/** Most runs of samples in all fragments: usually one per track and fragment. */
const maxRuns = 500_000;
/** Seconds by which a fragment may begin before the end of the one before. */
const maxOverlapSeconds = 1;

/** What the fragments of a file have of one track. */
interface FragmentedTrack {
  readonly track: Track;
  readonly runs: FragmentRun[];
  /** Where the last sample ends, ticks; undefined: there is none yet. */
  end: number | undefined;
}

/** Takes up the fragments of an uploaded film in the order they lie in the file. */
export class Fragments {
  readonly #tracks = new Map<number, FragmentedTrack>();
  readonly #defaults: ReadonlyMap<number, SampleDefaults>;
  readonly #ids: ReadonlySet<number>;
  #samples = 0;
  #runs = 0;

  /** @param measures of the samples in the moov box */
  constructor(movie: Movie, measures: ReadonlyMap<Track, Measure>) {
    for (const track of movie.tracks) {
      const { samples = 0, end } = measures.get(track) ?? {};
      this.#tracks.set(track.id, { track, runs: [], end: samples > 0 ? end : undefined });
    }
    this.#defaults = movie.fragmentDefaults ?? new Map();
    this.#ids = movie.ids;
  }

  runsOf(track: Track): readonly FragmentRun[] {
    return this.#tracks.get(track.id)?.runs ?? [];
  }

  /** @param options.at where the moof box begins in the file */
  add(moof: Box, { at }: { readonly at: number }): void {
    const runs = readFragment(moof, { at, most: maxSamples, trackOf: (id) => this.#trackOf(id) });
    for (const run of runs) {
      this.#samples += run.rows.count;
      if (this.#samples > maxSamples) throw new Refusal(`it has more than ${maxSamples} samples`);
      const into = this.#tracks.get(run.track);
      if (into === undefined) continue;
      checkRun(run, { into, at });
      if (run.rows.count === 0) continue;
      this.#runs += 1;
      if (this.#runs > maxRuns) throw new Refusal(`its fragments have more than ${maxRuns} runs of samples`);
      into.runs.push(run);
      into.end = run.dts + run.ticks;
    }
  }

  #trackOf(id: number) {
    if (!this.#ids.has(id)) return undefined;
    const defaults = this.#defaults.get(id) ?? { duration: 0, size: 0, flags: 0, entry: 1 };
    return { defaults, end: this.#tracks.get(id)?.end };
  }
}

function checkRun(run: FragmentRun, { into, at }: { into: FragmentedTrack; at: number }): void {
  const { entries, timescale } = into.track;
  const { entry } = run.defaults;
  if (entry < 1 || entry > entries.length)
    throw new Refusal(`the fragment at byte ${at} names sample entry ${entry} of ${entries.length}`);
  const gap = (run.dts - (into.end ?? run.dts)) / timescale;
  if (gap > maxSampleSeconds || gap < -maxOverlapSeconds)
    throw new Refusal(
      `the fragment at byte ${at} begins ${Math.abs(gap).toFixed(1)} s ${gap > 0 ? 'after' : 'before'} the end of the one before`,
    );
}
