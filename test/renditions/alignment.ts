import { presentationTimes, runOf, type SeenSegment } from './variants.ts';

export interface AlignmentOptions {
  /** The rendition has fewer pictures than the source on purpose (`fps`). */
  readonly hasFewer?: boolean;
  /** Pictures of the source come unevenly and out of order: how many lie in a part is not the same. Over a segment it is. */
  readonly isUneven?: boolean;
  /** Its process began anew in between: what it then made first is a key frame, wherever it lies. */
  readonly hasMoreKeys?: boolean;
}

/** What was compared. */
export interface Alignment {
  /** Differences, in words; empty when the rendition is aligned with its source. */
  readonly differences: readonly string[];
  readonly segments: number;
  readonly parts: number;
  /** Of the rendition. */
  readonly pictures: number;
  /** Frames of sound. */
  readonly sounds: number;
  /** Seconds of media. */
  readonly duration: number;
}

/**
 * Compares the segments that both have, by their numbers: they must lie at the same time in playlist, wall clock and boxes, part by part;
 * begin with a key frame where the source does; have the same sound byte for byte, and the same pictures at the same times.
 */
export function compare(
  source: ReadonlyMap<number, SeenSegment>,
  rendition: ReadonlyMap<number, SeenSegment>,
  options: AlignmentOptions = {},
): Alignment {
  const differences: string[] = [];
  const counts = { segments: 0, parts: 0, pictures: 0, sounds: 0, duration: 0 };
  const both = [...source.keys()].filter((sequence) => rendition.has(sequence)).sort((a, b) => a - b);
  for (const sequence of both) {
    const [one, other] = [source.get(sequence), rendition.get(sequence)] as [SeenSegment, SeenSegment];
    const differs = (what: string, ours: unknown, theirs: unknown) => {
      if (ours !== theirs)
        differences.push(`${what} of segment ${sequence}: ${theirs}, of the source ${ours}`);
    };
    differs('duration', one.duration, other.duration);
    differs('PROGRAM-DATE-TIME', one.wall, other.wall);
    differs('discontinuity sequence', one.discontinuities, other.discontinuities);
    differs('number of parts', one.parts.length, other.parts.length);
    differs('tracks', handlers(one), handlers(other));
    counts.segments += 1;
    counts.duration += one.duration;
    for (const part of one.parts.keys()) {
      if (other.parts[part] === undefined) break;
      counts.parts += 1;
      const at = `part ${part}`;
      differs(`duration of ${at}`, one.parts[part].duration, other.parts[part].duration);
      const [ours, theirs] = [one, other].map((segment) => runOf(segment, { part, handler: 'vide' }));
      differs(`pictures in ${at}`, ours !== undefined, theirs !== undefined);
      if (ours && theirs) {
        counts.pictures += theirs.samples.length;
        differs(`decode time of ${at}`, ours.start, theirs.start);
        differs(`end of ${at}`, ours.end, theirs.end);
        if (!options.hasFewer && !options.isUneven)
          differs(`pictures in ${at}`, ours.samples.length, theirs.samples.length);
        if (!options.isUneven && (!options.hasMoreKeys || one.parts[part].isIndependent))
          differs(`INDEPENDENT of ${at}`, one.parts[part].isIndependent, other.parts[part].isIndependent);
      }
      const [heard, alsoHeard] = [one, other].map((segment) => runOf(segment, { part, handler: 'soun' }));
      differs(`sound in ${at}`, heard?.start, alsoHeard?.start);
      differs(`frames of sound in ${at}`, heard?.samples.length, alsoHeard?.samples.length);
      counts.sounds += alsoHeard?.samples.length ?? 0;
      for (const [n, sample] of (heard?.samples ?? []).entries()) {
        const same = alsoHeard?.samples[n];
        if (same === undefined) break;
        differs(`length of sound ${n} in ${at}`, sample.duration, same.duration);
        if (!Buffer.from(sample.bytes).equals(same.bytes))
          differences.push(`sound ${n} in ${at} of ${sequence} differs`);
      }
    }
    const [first, itsFirst] = [one, other].map((segment) => pictures(segment)[0]);
    differs('key frame in front', first?.isSync, itsFirst?.isSync);
    if (first?.isSync) differs('time of the key frame in front', first.time, itsFirst?.time);
    const [ours, theirs] = [one, other].map(pictures);
    const keys = (list: typeof ours) => list.filter(({ isSync }) => isSync).map(({ time }) => time);
    const times = new Set(ours.map(({ time }) => time));
    const kept = new Set(keys(ours));
    const itsKeys = keys(theirs).filter((time) => !options.hasMoreKeys || kept.has(time));
    differs('times of key frames', keys(ours).join(), itsKeys.join());
    // Where a segment ends in the middle of a group of pictures, one that is shown out of order may lie in the next.
    const next = source.get(sequence + 1);
    const isClosed = first?.isSync && (next === undefined ? false : pictures(next)[0]?.isSync);
    if (options.isUneven || !isClosed) continue;
    if (options.hasFewer) {
      const strange = theirs.filter(({ time }) => !times.has(time));
      if (strange.length > 0)
        differences.push(
          `pictures of segment ${sequence} at times that the source has not: ${strange.length}`,
        );
    } else differs('times of pictures', shownAt(ours), shownAt(theirs));
  }
  return { differences, ...counts };
}

/** All pictures of a segment in order of decoding. */
function pictures(segment: SeenSegment): { time: number; isSync: boolean }[] {
  return segment.parts.flatMap((_, part) => {
    const run = runOf(segment, { part, handler: 'vide' });
    if (run === undefined) return [];
    return presentationTimes(run).map((time, n) => ({ time, isSync: run.samples[n].isSync }));
  });
}

const shownAt = (list: readonly { time: number }[]) =>
  list
    .map(({ time }) => time)
    .sort((a, b) => a - b)
    .join();

const handlers = (segment: SeenSegment) => segment.tracks.map(({ handler }) => handler).join();
