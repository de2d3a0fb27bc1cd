/**
 * Inspects inputs of the fuzzer, in a process of its own: `runner.ts <first> <until> <seed>`, and cuts those that are
 * accepted. Says what came of them.
 */
import { writeSync } from 'node:fs';
import type { FilmHead, FilmSegments } from '../../../core/ports/inspector.ts';
import { readSegmentBlock, readSegmentIndex } from '../../../core/vod/segment-index.ts';
import { inspectFile } from '../../../runtime/media/mp4/inspect/inspect-file.ts';
import { join } from '../../mp4/build.ts';
import { input } from './inputs.ts';

/** What a number of inputs came to. */
export interface Lap {
  /** The next one. */
  readonly number: number;
  readonly accepted: number;
  /** Reasons without their numbers, how often each. */
  readonly reasons: Readonly<Record<string, number>>;
  readonly wrong: readonly string[];
  /** ms of the slowest input, and which it was. */
  readonly slowest: readonly [ms: number, number: number];
  readonly rss: number;
}

const [first, until, seed] = process.argv.slice(2).map(Number);
let accepted = 0;
let reasons: Record<string, number> = {};
let wrong: string[] = [];
let slowest: [number, number] = [0, first];

for (let number = first; number < until; number += 1) {
  const began = performance.now();
  try {
    await look(input(number, { seed }), number);
  } catch (error) {
    wrong.push(`input ${number}: ${error instanceof Error ? error.stack : String(error)}`);
  }
  const took = performance.now() - began;
  if (took > slowest[0]) slowest = [took, number];
  if ((number + 1) % 500 === 0 || number + 1 === until) say(number + 1);
}

async function look(bytes: Uint8Array, number: number): Promise<void> {
  let read = 0;
  const file = {
    size: bytes.length,
    async read(from: number, to: number) {
      if (!(from >= 0 && from < to && to <= bytes.length)) throw new Error(`it reads from ${from} to ${to}`);
      read += to - from;
      return bytes.slice(from, to);
    },
  };
  const { inspection, playback } = await inspectFile(file, { isPlayed: true });
  // Each header may be looked for again behind the box before it.
  if (read > bytes.length * 40 + 1_000_000)
    wrong.push(`input ${number}: ${read} bytes read of ${bytes.length}`);
  if (!inspection.ok) {
    const reason = kindOf(inspection.reason);
    reasons[reason] = (reasons[reason] ?? 0) + 1;
    if (inspection.reason.length < 10 || inspection.reason.length > 500)
      wrong.push(`input ${number}: ${reason}`);
    return;
  }
  accepted += 1;
  const { spec } = inspection;
  const values = [spec, ...spec.tracks].flatMap((part) =>
    Object.values(part).filter((value) => typeof value === 'number'),
  );
  if (spec.tracks.length === 0 || !values.every((value) => Number.isFinite(value) && value >= 0))
    wrong.push(`input ${number}: ${JSON.stringify(spec)}`);
  if ((playback?.hls === undefined) !== (inspection.uncut !== undefined))
    wrong.push(`input ${number}: it is cut, or is not for a reason: ${inspection.uncut}`);
  if (playback?.hls) await lookAtSegments(playback.hls, { bytes, number });
  if (playback?.head) await lookAtHead(playback.head, { bytes, number });
}

/** What was cut is a film again, which is accepted as what it was cut from was. */
async function lookAtSegments(
  { index, heads }: FilmSegments,
  { bytes, number }: { bytes: Uint8Array; number: number },
): Promise<void> {
  const { count, inits, segment, bandwidth } = readSegmentIndex(index);
  const blob = join(...heads);
  const parts: Uint8Array[] = inits.slice(0, 1).map(({ at, size }) => blob.subarray(at, at + size));
  for (let i = 0; i < count; i += 1) {
    const { at, size, duration, init } = segment(i);
    const block = blob.subarray(at, at + size);
    const { headAt, ranges } = readSegmentBlock(block);
    if (!(duration > 0) || ranges.some(([from, to]) => !(from >= 0 && from <= to && to <= bytes.length)))
      wrong.push(`input ${number}: segment ${i} lasts ${duration} and is made of ${JSON.stringify(ranges)}`);
    if (init === 0)
      parts.push(block.subarray(headAt), ...ranges.map(([from, to]) => bytes.subarray(from, to)));
  }
  if (count === 0 || !Number.isFinite(bandwidth.peak))
    wrong.push(`input ${number}: it has ${count} segments`);
  const again = join(...parts);
  const { inspection } = await inspectAgain(again);
  // Samples that shared bytes share them no longer, or the more.
  const isKnown = inspection.ok || /bytes together|more samples than bytes/.test(inspection.reason);
  if (!isKnown) wrong.push(`input ${number}: cut, it is refused: ${inspection.reason}`);
}

/** With its index in front it is accepted as it was with the index behind. */
async function lookAtHead(
  { parts, from, to }: FilmHead,
  { bytes, number }: { bytes: Uint8Array; number: number },
): Promise<void> {
  if (!(from >= 0 && from <= to && to <= bytes.length)) {
    wrong.push(`input ${number}: its head goes on with bytes ${from} to ${to}`);
    return;
  }
  const { inspection } = await inspectAgain(join(...parts, bytes.subarray(from, to)));
  // Samples that lay in the index or behind it are beyond the end now.
  const isKnown =
    inspection.ok ||
    /cut off|bytes together|more bytes together|more samples than bytes/.test(inspection.reason);
  if (!isKnown) wrong.push(`input ${number}: with its index in front it is refused: ${inspection.reason}`);
}

function inspectAgain(again: Uint8Array) {
  return inspectFile({ size: again.length, read: async (from, to) => again.slice(from, to) });
}

/** A reason without its numbers and without the names of boxes that nobody knows. */
function kindOf(reason: string): string {
  const words = reason
    .replaceAll(/'.*'/g, 'X')
    .replaceAll(/\b(the|its|in its|and) (?!moov|trak|stbl|stsd).{1,16}? box\b/g, '$1 X box')
    .replaceAll(/\(dref .{4,16}\)/g, '(dref X)');
  return words.replaceAll(/\d+(\.\d+)?/g, 'N');
}

function say(number: number): void {
  const lap: Lap = { number, accepted, reasons, wrong, slowest, rss: process.memoryUsage().rss };
  writeSync(1, `${JSON.stringify(lap)}\n`);
  accepted = 0;
  reasons = {};
  wrong = [];
  slowest = [0, number];
}
