import { createHash } from 'node:crypto';
import type { IndexedInit } from '../../../../core/vod/segment-index.ts';
import { FragmentCursor, type FragmentRun } from '../../mp4/fragment-reader.ts';
import type { InitTrack } from '../../mp4/read-init.ts';
import type { FileIo } from '../thread/file-io.ts';
import { SegmentRows } from './segment-rows.ts';
import type { Steps } from './steps.ts';
import { type FileInit, type Visitor, type Walk, walkFile } from './walk.ts';

/** The different inits of a recording file. */
export class Inits {
  readonly list: IndexedInit[] = [];
  readonly tracks: (readonly InitTrack[])[] = [];
  readonly #numbers = new Map<string, number>();

  add({ at, bytes, tracks, described }: FileInit): void {
    this.#numbers.set(digest(bytes, described), this.list.length);
    this.list.push({ at, size: bytes.length, ...described });
    this.tracks.push(tracks);
  }

  /** Undefined: it is new. */
  numberOf({ bytes, described }: Pick<FileInit, 'bytes' | 'described'>): number | undefined {
    return this.#numbers.get(digest(bytes, described));
  }
}

export interface Scan {
  readonly inits: Inits;
  readonly segments: SegmentRows;
  readonly walk: Walk;
  /** Why the bytes after the last whole part are no part; undefined: there are none, or a moov. */
  readonly reason: string | undefined;
}

/** Reads the whole parts of a file that may be torn anywhere. */
export function* scanFile(io: FileIo, until?: number): Steps<Scan> {
  const inits = new Inits();
  const segments = new SegmentRows();
  let init = 0;
  const visitor: Visitor = {
    run(number, found) {
      init = number;
      if (found !== undefined) inits.add(found);
    },
    fragment(runs, { at, size, segment }) {
      const duration = durationOf(runs, inits.tracks[init]);
      if (segment === undefined) segments.extend(size, duration);
      else {
        const { wallStart, isDiscontinuity } = segment;
        segments.push({ at, size, duration, wallStart, init, isDiscontinuity });
      }
    },
  };
  const walk = yield* walkFile(io, { visitor, until });
  if (walk.end > 0 && walk.moov === undefined && endsInZeros(io, walk)) return yield* scanFile(io, walk.last);
  const reason = until === undefined ? walk.broken?.reason : 'a part that ends in zeros';
  return { inits, segments, walk, reason };
}

/** Seconds by the pictures, or by the sound where there are none; as the packager says it. */
export function durationOf(runs: readonly FragmentRun[], tracks: readonly InitTrack[]): number {
  let duration = 0;
  for (const run of runs) {
    const track = tracks.find(({ id }) => id === run.track);
    if (track === undefined) continue;
    const own = run.ticks / track.timescale;
    if (track.isVideo) return own;
    duration = Math.max(duration, own);
  }
  return duration;
}

/** Whether its first picture is a key frame; sound alone is one everywhere. */
export function beginsWithKey(runs: readonly FragmentRun[], tracks: readonly InitTrack[]): boolean {
  const pictures = tracks.flatMap(({ id, isVideo }) => (isVideo ? [id] : []));
  const cursor = new FragmentCursor(runs.filter(({ track }) => pictures.includes(track)));
  return pictures.length === 0 || (cursor.next() && cursor.isSync);
}

/** After a power failure a file may have its size but not yet its bytes. No codec ends in so many zeros. */
const zeros = 64;

function endsInZeros(io: FileIo, { last, end }: Walk): boolean {
  const size = Math.min(zeros, end - last);
  const tail = new Uint8Array(size);
  return io.read(end - size, tail) === size && tail.every((byte) => byte === 0);
}

function digest(bytes: Uint8Array, described: FileInit['described']): string {
  const { codecs, width, height, frameRate } = described;
  const about = JSON.stringify([codecs, width, height, frameRate]);
  return createHash('sha256').update(bytes).update(about).digest('base64');
}
