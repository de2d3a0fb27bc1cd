/** Names longer than this are compared no further: they come from outside, and the work grows with their square. */
const maxLength = 80;

/**
 * The known name that was probably meant by one that is not known: a letter too many, too few, wrong or swapped, more of
 * them in longer names. Case and `_`, `-` and `.` do not count. Undefined where none is near.
 */
export function nearMiss(name: string, known: Iterable<string>): string | undefined {
  if (name.length > maxLength) return undefined;
  const plainName = plain(name);
  let nearest: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    if (candidate === name || candidate.length > maxLength) continue;
    const distance = editDistance(plainName, plain(candidate));
    if (distance >= least || distance > tolerance(Math.min(plainName.length, candidate.length))) continue;
    nearest = candidate;
    least = distance;
  }
  return nearest;
}

/** What an error ends with: `; did you mean streams?`, or nothing. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const meant = nearMiss(name, known);
  return meant === undefined ? '' : `; did you mean ${meant}?`;
}

/** The same for the scheme of a URL: `; did you mean http?`. */
export function didYouMeanScheme(url: string, schemes: readonly string[]): string {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1].toLowerCase();
  if (scheme === undefined || schemes.includes(scheme)) return '';
  const meant = nearMiss(scheme, schemes);
  return meant === undefined ? '' : `; did you mean ${meant}?`;
}

/** How many letters may be wrong in a name of so many. In two letters nothing is left to know it by. */
function tolerance(length: number): number {
  if (length <= 2) return 0;
  if (length <= 5) return 1;
  return length <= 9 ? 2 : 3;
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[_.-]/g, '');
}

/** Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const substituted = last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, substituted);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) row[j] = Math.min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[b.length];
}
