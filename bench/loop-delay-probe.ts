import { writeFileSync } from 'node:fs';

/**
 * Preloaded into a server (`bun --preload bench/loop-delay-probe.ts …`), measures how late its event loop is: a
 * timer is set for every other millisecond, and how much later than asked it fires is counted. On SIGUSR1 it
 * writes what it has counted since the last time as JSON to the file LOOP_DELAY_FILE names, and begins anew.
 */
export interface LoopDelays {
  /** Seconds counted. */
  seconds: number;
  samples: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  p999: number;
  max: number;
}

/** Milliseconds between two samples. */
const interval = 2;
/** Milliseconds that one count of the histogram stands for. */
const step = 0.05;
const counts = new Uint32Array(200_000);

const file = process.env.LOOP_DELAY_FILE;
if (file) {
  let samples = 0;
  let max = 0;
  let since = performance.now();
  let due = since + interval;
  const sample = () => {
    const now = performance.now();
    const late = Math.max(0, now - due);
    counts[Math.min(Math.floor(late / step), counts.length - 1)] += 1;
    samples += 1;
    if (late > max) max = late;
    due = now + interval;
    setTimeout(sample, interval);
  };
  setTimeout(sample, interval);
  process.on('SIGUSR1', () => {
    const now = performance.now();
    const delays: LoopDelays = {
      seconds: (now - since) / 1000,
      samples,
      p50: at(0.5, samples),
      p99: at(0.99, samples),
      p999: at(0.999, samples),
      max,
    };
    writeFileSync(file, JSON.stringify(delays));
    counts.fill(0);
    samples = max = 0;
    since = now;
  });
}

/** Upper end of the step in which that share of the samples is reached, ms. */
function at(share: number, samples: number): number {
  let seen = 0;
  for (let n = 0; n < counts.length; n += 1) {
    seen += counts[n];
    if (seen >= share * samples) return (n + 1) * step;
  }
  return Number.NaN;
}
