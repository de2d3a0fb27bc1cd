import { createHash } from 'node:crypto';
import type { IndexedInit } from '../../../../core/vod/segment-index.ts';
import type { Steps } from '../steps.ts';
import type { TakeIo } from '../take-file.ts';
import { type FragmentReader, SYNC } from './fragment-reader.ts';
import { takeFileLimits } from './limits.ts';
import type { InitTrack } from './read-init.ts';
import { SegmentRows } from './segment-rows.ts';
import { type TakeInit, type Visitor, type Walk, walkTake } from './walk.ts';

/** The inits of a take, each told once however often it is come back to. */
export class TakeInits {
  readonly list: IndexedInit[] = [];
  readonly tracks: (readonly InitTrack[])[] = [];
  readonly #numbers = new Map<string, number>();

  add({ at, bytes, tracks, described }: TakeInit): void {
    this.#numbers.set(digest(bytes, described), this.list.length);
    this.list.push({ at, size: bytes.length, ...described });
    this.tracks.push(tracks);
  }

  /** Which one this is; undefined: it is new. */
  numberOf({ bytes, described }: Pick<TakeInit, 'bytes' | 'described'>): number | undefined {
    return this.#numbers.get(digest(bytes, described));
  }
}

export interface Scan {
  readonly inits: TakeInits;
  readonly segments: SegmentRows;
  readonly walk: Walk;
  /** What is not whole behind the last part; undefined: nothing is there, or a moov. */
  readonly reason: string | undefined;
}

/** What is whole in a file that may be torn anywhere. */
export function* scanTake(io: TakeIo, until?: number): Steps<Scan> {
  const inits = new TakeInits();
  const segments = new SegmentRows();
  let init = 0;
  const visitor: Visitor = {
    run(number, found) {
      init = number;
      if (found !== undefined) inits.add(found);
    },
    fragment(fragment, { at, size, segment }) {
      const duration = durationOf(fragment, inits.tracks[init]);
      if (segment === undefined) segments.extend(size, duration);
      else {
        const { wallStart, isDiscontinuity } = segment;
        segments.push({ at, size, duration, wallStart, init, isDiscontinuity });
      }
    },
  };
  const walk = yield* walkTake(io, { visitor, until });
  if (walk.end > 0 && walk.moov === undefined && endsInZeros(io, walk)) return yield* scanTake(io, walk.last);
  const reason = until === undefined ? walk.broken?.reason : 'a part that ends in zeros';
  return { inits, segments, walk, reason };
}

/** Seconds by the pictures, or by the sound where there are none; as the packager says it. */
export function durationOf(fragment: FragmentReader, tracks: readonly InitTrack[]): number {
  let duration = 0;
  for (let i = 0; i < fragment.count; i += 1) {
    const run = fragment.runs[i];
    const track = tracks.find(({ id }) => id === run.track);
    if (track === undefined) continue;
    const own = run.duration / track.timescale;
    if (track.isVideo) return own;
    duration = Math.max(duration, own);
  }
  return duration;
}

/** Whether its first picture is a key frame; sound alone is one everywhere. */
export function beginsWithKey(fragment: FragmentReader, tracks: readonly InitTrack[]): boolean {
  const pictures = new Set(tracks.flatMap(({ id, isVideo }) => (isVideo ? [id] : [])));
  const run = fragment.runs.slice(0, fragment.count).find(({ track }) => pictures.has(track));
  return pictures.size === 0 || run?.table[SYNC] === 1;
}

/** A file whose size was on disk before its bytes were: no codec ends so. */
function endsInZeros(io: TakeIo, { last, end }: Walk): boolean {
  const size = Math.min(takeFileLimits.takeZeros.value, end - last);
  const tail = new Uint8Array(size);
  return io.read(end - size, tail) === size && tail.every((byte) => byte === 0);
}

function digest(bytes: Uint8Array, described: TakeInit['described']): string {
  const { codecs, width, height, frameRate } = described;
  const told = JSON.stringify([codecs, width, height, frameRate]);
  return createHash('sha256').update(bytes).update(told).digest('base64');
}
