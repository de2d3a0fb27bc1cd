import { type IndexedSegment, writeSegmentIndex } from '../../../../core/segment-index.ts';
import { Rate } from '../../hls/rate.ts';
import { join } from '../../mp4/box.ts';
import type { FinishedFile, TakeIo } from '../take-file.ts';
import { FileWindow } from './file-window.ts';
import { Film } from './film.ts';
import { FILE_TYPE } from './layout.ts';
import { takeFileLimits } from './limits.ts';
import { moveChunks, writeMoov } from './moov.ts';
import type { TakeInits } from './scan.ts';
import type { SegmentRows } from './segment-rows.ts';
import { videoSpec } from './video-spec.ts';
import { walkTake } from './walk.ts';

/**
 * Puts the moov behind the extents, which end at `end`, unless it is there. The same file gives the same bytes, so a finish
 * that was torn is done again. What is in memory is the moov, twice while it is made.
 */
export function finishTake(
  io: TakeIo,
  take: { end: number; inits: TakeInits; segments: SegmentRows },
): FinishedFile | undefined {
  const { end, inits, segments } = take;
  const film = new Film();
  walkTake(io, {
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
  const head = join([FILE_TYPE, ...writeMoov(tracks, { startedAt })]);
  const moov = head.subarray(FILE_TYPE.length);
  if (!isThere(io, end, moov)) {
    if (io.size > end) io.truncate(end);
    io.write(end, moov);
  }
  const size = end + moov.length;
  moveChunks(moov, moov.length);
  return {
    size,
    head: { bytes: head, from: FILE_TYPE.length, to: end },
    index: writeIndex(inits, segments),
    spec: videoSpec(tracks, { size }),
    startedAt,
  };
}

function isThere(io: TakeIo, at: number, bytes: Uint8Array): boolean {
  if (io.size !== at + bytes.length) return false;
  const window = new FileWindow(io);
  for (let from = 0; from < bytes.length; from += takeFileLimits.takeWindow.value) {
    const expected = bytes.subarray(from, from + takeFileLimits.takeWindow.value);
    const here = window.load(at + from, expected.length);
    if (here < 0 || Buffer.compare(window.bytes.subarray(here, here + expected.length), expected) !== 0)
      return false;
  }
  return true;
}

function writeIndex({ list }: TakeInits, rows: SegmentRows): Uint8Array<ArrayBuffer> {
  const segments: IndexedSegment[] = [];
  for (let number = 0; number < rows.count; number += 1) segments.push(rows.get(number));
  // As a playlist says it: the greatest duration, rounded.
  const target = Math.max(
    1,
    Math.round(segments.reduce((most, { duration }) => Math.max(most, duration), 0)),
  );
  const rate = new Rate();
  for (const { size, duration } of segments) if (duration > 0) rate.add(size, duration, target);
  return writeSegmentIndex({ inits: list, bandwidth: { average: rate.average, peak: rate.peak }, segments });
}
