import type { SampleEntry } from '../mp4/inspect/sample-entry.ts';

/** For each sample entry the first one that says the same: some muxers write one for each chunk. */
export function distinctEntries(entries: readonly SampleEntry[]): number[] {
  return entries.map((entry) => entries.findIndex((other) => isSame(entry, other)));
}

function isSame(a: SampleEntry, b: SampleEntry): boolean {
  if (a.kind === 'other' || b.kind === 'other' || a.kind !== b.kind) return a === b;
  if (a.config.entry !== b.config.entry || Buffer.compare(a.record, b.record) !== 0) return false;
  return a.kind !== 'h264' || b.kind !== 'h264' || Buffer.compare(a.boxes, b.boxes) === 0;
}
