import { canHaveHead, takeHead } from '../../vod/head.ts';
import { FragmentCursor, type FragmentRun, readFragment, type SampleDefaults } from '../fragment-reader.ts';
import { type Box, ForeignRefusal, Refusal, typeAt } from './boxes.ts';
import { type FileBox, FileWindow, fileBoxes, type ReadableFile, readAhead } from './file.ts';
import { containerOf, declaredDuration, sniff } from './foreign.ts';
import { claimedOf, type Movie, readMovie, type Track } from './movie.ts';
import { TableCursor } from './sample-tables.ts';
import {
  type Measure,
  maxSampleSeconds,
  maxSamples,
  measure,
  nothing,
  type SampleCursor,
} from './samples.ts';

/** Bytes of the `moov` and all `moof` boxes together, which are held in memory: some 30 h of film. */
const maxIndexBytes = 64 * 1_048_576;
/** Longest `ftyp` box of a film that is offered with its index moved to the front. */
const maxStartBytes = 4096;

/** What is known of a file that is an mp4. Its index is in memory, its samples are not. */
export interface Film {
  readonly size: number;
  readonly isFragmented: boolean;
  /** At least one; each has samples. */
  readonly tracks: readonly FilmTrack[];
  readonly passedOver: readonly string[];
  /** Seconds, as its header says; undefined: unknown. */
  readonly claimed: number | undefined;
  /** Its `ftyp` box, where it is short. */
  readonly start: Uint8Array | undefined;
  readonly moov: Box;
  /** Where that box begins in the file. */
  readonly moovAt: number;
}

export interface FilmTrack {
  readonly track: Track;
  readonly measure: Measure;
  /** Its samples from the beginning: those of the moov box, then those of the fragments. Each call begins anew. */
  cursors(): SampleCursor[];
}

/**
 * Reads the index of a file: `ftyp`, `moov` wherever it is, and the `moof` boxes of a fragmented one. Throws Refusal.
 * `isConverted`: of one of another kind with what it takes to read it from its beginning to its end.
 */
export async function readFilm(
  file: ReadableFile,
  { isConverted = false }: { readonly isConverted?: boolean } = {},
): Promise<Film> {
  const window = new FileWindow(file);
  const start = await readStart(window);
  let left = maxIndexBytes;
  const load = async ({ type, from, to }: FileBox): Promise<Box> => {
    left -= to - from;
    if (left < 0)
      throw new Refusal(`its index is too large: ${type} boxes of more than ${maxIndexBytes} bytes together`);
    const view = await window.copy(from, to);
    return { type, view, from: 0, to: view.byteLength };
  };
  let movie: Movie | undefined;
  let place: Pick<Film, 'moov' | 'moovAt'> | undefined;
  let fragments: Fragments | undefined;
  const measures = new Map<Track, Measure>();
  let hasMedia = false;
  for await (const box of fileBoxes(window)) {
    hasMedia ||= box.type === 'mdat';
    if (box.type === 'moov' && movie !== undefined) throw new Refusal('it has two moov boxes');
    if (box.type === 'moov') {
      place = { moov: await load(box), moovAt: box.at };
      movie = readNative({ ...place, start, hasMedia, isConverted });
      for (const track of movie.tracks) measures.set(track, measureTables(track, file.size));
      checkCount(measures);
      // Nothing behind a plain film matters: where its samples lie was checked.
      if (movie.fragmentDefaults === undefined) break;
      fragments = new Fragments(movie, measures);
    }
    if (box.type === 'moof') {
      if (fragments === undefined)
        throw new Refusal(
          'it begins with a fragment (moof) before any moov box: this is a segment of a film',
        );
      fragments.add(await load(box), { at: box.at });
    }
  }
  if (movie === undefined || place === undefined)
    throw new Refusal('it has no moov box: it is cut off, or its recorder stopped before the end');
  const tracks = movie.tracks.map((track) => {
    const runs = fragments?.runsOf(track) ?? [];
    const before = measures.get(track) ?? nothing;
    const whole = measure(new FragmentCursor(runs), { ...subject(track, file.size), before });
    measures.set(track, whole);
    return { track, measure: whole, cursors: () => cursorsOf(track, runs) };
  });
  checkCount(measures);
  const bytes = total(measures, 'bytes');
  if (bytes > file.size)
    throw new Refusal(`its samples have ${bytes} bytes together, and the file has ${file.size}`);
  const { passedOver, claimed, fragmentDefaults } = movie;
  const isFragmented = fragmentDefaults !== undefined;
  const filled = tracks.filter(({ measure }) => measure.samples > 0);
  if (filled.length === 0)
    throw new Refusal(isFragmented ? 'it has no fragment with samples' : 'its tracks have no samples');
  return { size: file.size, isFragmented, tracks: filled, passedOver, claimed, start, ...place };
}

/** Throws Refusal, of one of another kind that a converter could read `ForeignRefusal`. */
function readNative(
  film: Pick<Film, 'moov' | 'moovAt' | 'start'> & {
    readonly hasMedia: boolean;
    readonly isConverted: boolean;
  },
): Movie {
  try {
    return readMovie(film.moov);
  } catch (error) {
    if (!(error instanceof ForeignRefusal)) throw error;
    const brand = isQuickTime(film.start) ? ({ isQuickTime: true } as const) : {};
    const foreign = { ...error.foreign, ...brand, ...declared(claimedOf(film.moov)) };
    if (!film.hasMedia) throw new ForeignRefusal(error.message, foreign);
    // Some of what lies there is read from places that would not be its own any more: it is left as it is refused.
    const plain = { ...film, isFragmented: false };
    if (!canHaveHead(plain)) throw new Refusal(error.message);
    const front = film.isConverted ? takeHead(plain) : undefined;
    throw new ForeignRefusal(error.message, { ...foreign, ...(front && { front }) });
  }
}

function declared(duration: number | undefined): { readonly duration?: number } {
  return duration === undefined ? {} : { duration };
}

/** The first box must be `ftyp`: some other container is named rather than called broken. Undefined: it is a long one. */
async function readStart(window: FileWindow): Promise<Uint8Array | undefined> {
  if (window.size === 0) throw new Refusal('it is empty');
  const view = await window.view(0, Math.min(window.size, readAhead));
  const isMp4 = view.byteLength >= 8 && typeAt(view, 4) === 'ftyp';
  if (isMp4) {
    const size = view.getUint32(0);
    if (size < 8 || size > Math.min(view.byteLength, maxStartBytes)) return undefined;
    return new Uint8Array(view.buffer, view.byteOffset, size).slice();
  }
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  const kind = sniff(bytes);
  const found = kind === undefined ? 'it does not begin with an ftyp box' : `it is ${kind}`;
  const message = `${found}; expected an mp4`;
  const container = containerOf(bytes);
  throw container === undefined
    ? new Refusal(message)
    : new ForeignRefusal(message, { container, ...declared(declaredDuration(container, view)) });
}

function measureTables(track: Track, fileSize: number): Measure {
  const { tables } = track;
  if (tables === undefined || tables.count === 0) return nothing;
  if (tables.count > maxSamples)
    throw new Refusal(`${track.label} claims ${tables.count} samples; expected ${maxSamples} at most`);
  return measure(new TableCursor(tables), { ...subject(track, fileSize), before: nothing });
}

function subject({ label, timescale }: Track, fileSize: number) {
  return { label, timescale, fileSize };
}

function cursorsOf({ tables }: Track, runs: readonly FragmentRun[]): SampleCursor[] {
  return [...(tables === undefined ? [] : [new TableCursor(tables)]), new FragmentCursor(runs)];
}

function total(measures: ReadonlyMap<Track, Measure>, of: 'samples' | 'bytes'): number {
  return [...measures.values()].reduce((sum, measure) => sum + measure[of], 0);
}

function checkCount(measures: ReadonlyMap<Track, Measure>): void {
  const samples = total(measures, 'samples');
  if (samples > maxSamples) throw new Refusal(`it has ${samples} samples; expected ${maxSamples} at most`);
}

/** Whether the major brand of an `ftyp` box (ISO/IEC 14496-12 4.3) is QuickTime. */
export function isQuickTime(ftyp: Uint8Array | undefined): boolean {
  return ftyp !== undefined && Buffer.from(ftyp.subarray(8, 12)).toString('latin1') === 'qt  ';
}

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
class Fragments {
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
