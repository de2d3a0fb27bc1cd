import {
  type IndexedSegment,
  newSegmentIndex,
  type SegmentIndex,
} from '../../../../core/vod/segment-index.ts';
import { Rate } from '../../live/rate.ts';
import type { Steps } from '../steps.ts';
import type { FinishedFile, Segments, TakeIo } from '../take-file.ts';
import { FileWindow } from './file-window.ts';
import { Film } from './film.ts';
import { FILE_TYPE } from './layout.ts';
import { takeFileLimits } from './limits.ts';
import { moveChunks, writeMoov } from './moov.ts';
import type { TakeInits } from './scan.ts';
import { videoSpec } from './video-spec.ts';
import { walkTake } from './walk.ts';

/**
 * Puts the moov behind the extents, which end at `end`, unless it is there. The same file gives the same bytes, so a finish
 * that was torn is done again. What is in memory is the moov, twice while it is made. A step of it takes some milliseconds,
 * however long the film is.
 */
export function* finishTake(
  io: TakeIo,
  take: { end: number; inits: TakeInits; segments: Segments },
): Steps<FinishedFile | undefined> {
  const { end, inits, segments } = take;
  const film = new Film();
  yield* walkTake(io, {
    until: end,
    visitor: {
      run: (number) => film.run(inits.tracks[number]),
      fragment: (fragment, { at }) => film.fragment(fragment, at),
    },
  });
  const tracks = film.tracks
    .filter(({ count }) => count > 0)
    .sort((a, b) => Number(b.isVideo) - Number(a.isVideo));
  if (tracks.length === 0) return undefined;
  for (const track of tracks) track.close();
  const startedAt = segments.get(0).wallStart;
  const head = yield* joined([FILE_TYPE, ...writeMoov(tracks, { startedAt })]);
  const moov = head.subarray(FILE_TYPE.length);
  if (!(yield* isThere(io, end, moov))) {
    if (io.size > end) io.truncate(end);
    for (const [at, piece] of piecesOf(moov)) {
      io.write(end + at, piece);
      yield;
    }
  }
  const size = end + moov.length;
  yield* moveChunks(moov, moov.length);
  return {
    size,
    head: { bytes: head, from: FILE_TYPE.length, to: end },
    index: yield* writeIndex(inits, segments),
    spec: videoSpec(tracks, { size }),
    startedAt,
  };
}

/** One behind the other. The large ones are those of the tables, which are not longer than `takePiece` each. */
function* joined(parts: readonly Uint8Array[]): Steps<Uint8Array<ArrayBuffer>> {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  let copied = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
    copied += part.length;
    if (copied < PIECE) continue;
    copied = 0;
    yield;
  }
  return whole;
}

function* isThere(io: TakeIo, at: number, bytes: Uint8Array): Steps<boolean> {
  if (io.size !== at + bytes.length) return false;
  const window = new FileWindow(io);
  for (const [from, expected] of piecesOf(bytes)) {
    const here = window.load(at + from, expected.length);
    if (here < 0 || Buffer.compare(window.bytes.subarray(here, here + expected.length), expected) !== 0)
      return false;
    yield;
  }
  return true;
}

function* piecesOf(bytes: Uint8Array): Iterable<[at: number, piece: Uint8Array]> {
  for (let at = 0; at < bytes.length; at += PIECE) yield [at, bytes.subarray(at, at + PIECE)];
}

function* writeIndex({ list }: TakeInits, rows: Segments): Steps<Uint8Array<ArrayBuffer>> {
  const bandwidth = yield* bandwidthOf(rows);
  const index = newSegmentIndex({ inits: list, bandwidth, count: rows.count });
  yield* each(rows, (segment, number) => index.put(number, segment));
  return index.bytes;
}

export function* bandwidthOf(rows: Segments): Steps<SegmentIndex['bandwidth']> {
  let longest = 0;
  yield* each(rows, ({ duration }) => {
    longest = Math.max(longest, duration);
  });
  // As a playlist says it: the greatest duration, rounded.
  const target = Math.max(1, Math.round(longest));
  const rate = new Rate();
  yield* each(rows, ({ size, duration }) => {
    if (duration > 0) rate.add(size, duration, target);
  });
  return { average: rate.average, peak: rate.peak };
}

export function* each(rows: Segments, visit: (segment: IndexedSegment, number: number) => void): Steps<void> {
  for (let number = 0; number < rows.count; number += 1) {
    visit(rows.get(number), number);
    if (number % ROWS === ROWS - 1) yield;
  }
}

const PIECE = takeFileLimits.takePiece.value;
const ROWS = takeFileLimits.takeRows.value;
