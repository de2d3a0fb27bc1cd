/**
 * Fuzzes what looks into uploaded mp4 files, with damaged films, in another process.
 *
 *     npm run fuzz -- mp4 [inputs, default 100000] [seed, default 1] [first, default 0]
 *
 * Prints counters, and ends with 1 when one of its bounds is broken: a crash or an error that is no refusal, no answer for
 * 60 s, more than 64 MB of growth after the first tenth, a film that makes no sense, too few inputs that are accepted or
 * too few kinds of refusals for the damage to reach everything. An input is found again by its number and the seed.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Lap } from './runner.ts';

const [inputs = 100_000, seed = 1, first = 0] = process.argv.slice(2).map(Number);
const until = first + inputs;
const deadline = 60_000;

const reasons = new Map<string, number>();
const problems: string[] = [];
let slowest: readonly [ms: number, number: number] = [0, 0];
let accepted = 0;
let next = first;
let tenth = 0;
let rss = 0;
const began = performance.now();

const runner = join(import.meta.dirname, 'runner.ts');
const child = spawn(process.execPath, [runner, String(first), String(until), String(seed)], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
let late = watch();
const ended = new Promise<void>((resolve) => {
  child.on('exit', (code, signal) => {
    if (code !== 0) problems.push(`it ended with ${code ?? signal} behind input ${next}`);
    resolve();
  });
});
for await (const line of createInterface({ input: child.stdout })) {
  clearTimeout(late);
  late = watch();
  take(JSON.parse(line) as Lap);
}
clearTimeout(late);
await ended;

const growth = Math.round((rss - tenth) / 1e6);
const took = (performance.now() - began) / 1000;
const often = [...reasons].sort((a, b) => b[1] - a[1]);
for (const [reason, count] of often.slice(0, 100)) console.log(String(count).padStart(8), reason);
console.log({
  inputs: next - first,
  seed,
  'inputs per second': Math.round((next - first) / took),
  accepted,
  'kinds of refusals': reasons.size,
  'slowest (ms, input)': slowest,
  'rss after a tenth, at the end (MB)': [tenth, rss].map((bytes) => Math.round(bytes / 1e6)),
});
if (growth > 64) problems.push(`${growth} MB of growth`);
if (accepted < inputs * 0.05) problems.push('fewer than a twentieth of the inputs were accepted');
if (inputs >= 10_000 && reasons.size < 60) problems.push('fewer than 60 kinds of refusals');
for (const problem of problems.slice(0, 20)) console.log('PROBLEM', problem);
process.exit(problems.length === 0 ? 0 : 1);

function watch(): ReturnType<typeof setTimeout> {
  return setTimeout(() => {
    problems.push(`no answer for ${deadline} ms behind input ${next}`);
    child.kill('SIGKILL');
  }, deadline);
}

function take(lap: Lap): void {
  next = lap.number;
  accepted += lap.accepted;
  for (const [reason, count] of Object.entries(lap.reasons))
    reasons.set(reason, (reasons.get(reason) ?? 0) + count);
  problems.push(...lap.wrong);
  if (lap.slowest[0] > slowest[0]) slowest = [Math.round(lap.slowest[0]), lap.slowest[1]];
  rss = lap.rss;
  if (tenth === 0 && next - first >= inputs / 10) tenth = rss;
}
