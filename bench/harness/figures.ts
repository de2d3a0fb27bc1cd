import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** Between two values the mean of them counts, by distance. NaN when there are none. */
export function percentile(values: readonly number[], percent: number): number {
  if (values.length === 0) return Number.NaN;
  const sorted = values.toSorted((a, b) => a - b);
  const at = ((sorted.length - 1) * percent) / 100;
  const below = sorted[Math.floor(at)];
  return below + (sorted[Math.ceil(at)] - below) * (at - Math.floor(at));
}

/** `12.34`, `12.34 ± 0.56` behind several: median and half the range. */
export function spread(values: readonly number[], digits: number): string {
  const middle = median(values).toFixed(digits);
  if (values.length < 2) return middle;
  const half = (Math.max(...values) - Math.min(...values)) / 2;
  return `${middle} ± ${half.toFixed(digits)}`;
}

/** Columns as wide as they must be; the first is left-bound, the others right-bound. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  for (const [number, row] of all.entries()) {
    const cells = widths.map((width, n) =>
      n === 0 ? (row[n] ?? '').padEnd(width) : (row[n] ?? '').padStart(width),
    );
    console.log(cells.join('  '));
    if (number === 0) console.log(widths.map((width) => '-'.repeat(width)).join('  '));
  }
}

/** One line about the machine at this moment. */
export function machine(): string {
  const load = readFileSync('/proc/loadavg', 'utf8').split(' ').slice(0, 3).join(' ');
  const kernel = readFileSync('/proc/sys/kernel/osrelease', 'utf8').trim();
  return `${cpus().length} cores (${cpus()[0]?.model.trim()}), Linux ${kernel}, Bun ${Bun.version}, load average ${load}`;
}

/** Clock ticks of a core so far: all, and those in which it did something; from /proc/stat. */
export function coreTicks(core: number): { all: number; busy: number; stolen: number } {
  const line =
    readFileSync('/proc/stat', 'utf8')
      .split('\n')
      .find((text) => text.startsWith(`cpu${core} `)) ?? '';
  const ticks = line.split(/\s+/).slice(1, 9).map(Number);
  const all = ticks.reduce((sum, value) => sum + value, 0);
  return { all, busy: all - ticks[3] - ticks[4], stolen: ticks[7] ?? 0 };
}
