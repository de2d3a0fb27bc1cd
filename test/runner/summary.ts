/** What a run of tests comes to, from its journal (./journal.ts): counts, and what the end of its log has to say. Pure. */
import type { Entry } from './journal.ts';

export interface Summary {
  readonly passed: number;
  /** Tests that failed, errors outside of tests, and files that were not done. */
  readonly failed: number;
  readonly skipped: number;
  /** Lines `FAILED file: test: reason`. */
  readonly failures: string[];
  /** The ten files that took longest, the longest first, as lines. */
  readonly slowest: string[];
}

export function summarize(entries: readonly Entry[]): Summary {
  const files = new Map<string, { begun?: number; done?: number; underWay: Set<string> }>();
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const failures: string[] = [];
  const fileOf = (name: string) => {
    const file = files.get(name) ?? { underWay: new Set<string>() };
    files.set(name, file);
    return file;
  };
  for (const entry of entries) {
    if (entry.kind === 'files') entry.files.forEach(fileOf);
    else if (entry.kind === 'begun') fileOf(entry.file).begun = entry.at;
    else if (entry.kind === 'done') fileOf(entry.file).done = entry.at;
    else if (entry.kind === 'test begun') fileOf(entry.file).underWay.add(entry.test);
    else if (entry.kind === 'test') {
      fileOf(entry.file).underWay.delete(entry.test);
      counts[entry.state] += 1;
      if (entry.state === 'failed')
        failures.push(`FAILED ${entry.file}: ${entry.test}: ${oneLine(entry.reason)}`);
    } else failures.push(`FAILED ${entry.file || 'outside any file'}: ${oneLine(entry.reason)}`);
  }
  for (const [name, { begun, done, underWay }] of files) {
    if (done !== undefined) continue;
    const tests = underWay.size > 0 ? `, in the middle of ${[...underWay].join('; ')}` : '';
    failures.push(`FAILED ${name}: ${begun === undefined ? 'not begun' : `not done${tests}`}`);
  }
  const times = [...files].flatMap(([name, { begun, done }]) =>
    begun === undefined || done === undefined ? [] : { name, seconds: (done - begun) / 1000 },
  );
  times.sort((one, other) => other.seconds - one.seconds);
  return {
    ...counts,
    failed: failures.length,
    failures,
    slowest: times.slice(0, 10).map(({ name, seconds }) => `${seconds.toFixed(1).padStart(6)} s  ${name}`),
  };
}

/** A journal's lines as entries. The last line may be half written, when what wrote it was killed. */
export function readJournal(text: string): Entry[] {
  const lines = text.split('\n');
  return lines.slice(0, -1).map((line) => JSON.parse(line) as Entry);
}

/** On one line, for whoever reads the end of a log only: how it begins, and how what a program printed ends. */
function oneLine(text = 'no reason was given'): string {
  const line = text.trim().replace(/\s*\n\s*/g, ' | ');
  return line.length <= 1200 ? line : `${line.slice(0, 500)} … ${line.slice(-700)}`;
}
