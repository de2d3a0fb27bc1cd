import type { ClipTag } from '../../kit/publisher/flv-file.ts';
import { readFlvFile } from '../../kit/publisher/flv-file.ts';
import type { NumberAt } from './film-checks.ts';
import { numbered } from './numbered-clip.ts';

/** What one connection sent. Times are seconds of its own clock. */
export interface Run {
  readonly pictures: number;
  /** The number of its first picture. */
  readonly first: number;
  readonly shown: Span;
  readonly heard: Span;
}

interface Span {
  readonly from: number;
  readonly until: number;
}

/** Where a run stands in a film: its first picture is shown at `from`. */
export interface Placed extends Span {
  readonly first: number;
}

/** @param file FLV, as ffmpeg wrote it down beside sending it */
export async function readRun(file: string, { first }: { first: number }): Promise<Run> {
  const { tags } = await readFlvFile(file);
  const pictures = tags.filter(({ type }) => type === 'video');
  const sounds = tags.filter(({ type }) => type === 'audio');
  const span = (all: readonly ClipTag[], lasts: number) => {
    const times = all.map(shownAt);
    return { from: Math.min(...times) / 1000, until: Math.max(...times) / 1000 + lasts };
  };
  const shown = span(pictures, 1 / numbered.fps);
  return { pictures: pictures.length, first, shown, heard: span(sounds, 1024 / 48_000) };
}

/** One behind the other: a run begins as soon as both tracks of the one before are over. 0 is the first picture. */
export function placed(runs: readonly Run[]): Placed[] {
  let seen = 0;
  let heard = Number.NEGATIVE_INFINITY;
  return runs.map((run) => {
    // Of the run's clock in the film.
    const zero = Math.max(seen - run.shown.from, heard - run.heard.from);
    seen = zero + run.shown.until;
    heard = zero + run.heard.until;
    return { first: run.first, from: zero + run.shown.from, until: Math.max(seen, heard) };
  });
}

/** The number of the picture that a film shows at a second. */
export function numbersOf(runs: readonly Placed[]): NumberAt {
  return (seconds) => {
    const run = runs.findLast(({ from }) => from <= seconds) ?? runs[0];
    return run.first + Math.floor((seconds - run.from) * numbered.fps + 1e-6);
  };
}

/** Milliseconds; of a picture the decoding time and the composition offset of AVC. */
function shownAt({ type, timestamp, body }: ClipTag): number {
  if (type === 'audio') return timestamp;
  const [, , a = 0, b = 0, c = 0] = body;
  return timestamp + ((((a << 16) | (b << 8) | c) << 8) >> 8);
}
