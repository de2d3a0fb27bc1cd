/** Inspects inputs of the fuzzer, in a process of its own: `runner.ts <first> <until> <seed>`. Says what came of them. */
import { writeSync } from 'node:fs';
import { inspectFile } from '../../../runtime/media/mp4/inspect/inspect-file.ts';
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
  const inspection = await inspectFile({
    size: bytes.length,
    async read(from, to) {
      if (!(from >= 0 && from < to && to <= bytes.length)) throw new Error(`it reads from ${from} to ${to}`);
      read += to - from;
      return bytes.slice(from, to);
    },
  });
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
