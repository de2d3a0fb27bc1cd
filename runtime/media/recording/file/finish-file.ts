import type { VideoSpec } from '../../../../core/ports/recorder.ts';
import {
  type IndexedSegment,
  type SegmentIndex,
  writeSegmentIndex,
} from '../../../../core/vod/segment-index.ts';
import { Rate } from '../../live/rate.ts';
import { join } from '../../mp4/box.ts';
import { mapChunkOffsets } from '../../mp4/chunk-offsets.ts';
import { boxAround } from '../../mp4/read-init.ts';
import type { FileIo } from '../thread/file-io.ts';
import { Film } from './film.ts';
import { FILE_TYPE } from './layout.ts';
import { writeMoov } from './moov.ts';
import type { Inits } from './scan.ts';
import type { Steps } from './steps.ts';
import { videoSpec } from './video-spec.ts';
import { walkFile } from './walk.ts';

export interface FinishedFile {
  readonly size: number;
  /** `ftyp` and the moov in front: followed by the bytes `from` up to `to` of the file it is the same film. */
  readonly head: { readonly bytes: Uint8Array<ArrayBuffer>; readonly from: number; readonly to: number };
  /** `core/vod/segment-index.ts` */
  readonly index: Uint8Array<ArrayBuffer>;
  readonly spec: VideoSpec;
  /** Epoch ms of its first sample. */
  readonly startedAt: number;
}

/**
 * Writes the moov behind the extents, which end at `end`. The same file gives the same bytes, so a finish that was torn is
 * done again. Undefined: there are no samples. In memory is the moov, twice (100 MB each for a day of film).
 */
export function* finishFile(
  io: FileIo,
  file: { end: number; inits: Inits; segments: readonly IndexedSegment[] },
): Steps<FinishedFile | undefined> {
  const { end, inits, segments } = file;
  const film = new Film();
  yield* walkFile(io, {
    until: end,
    visitor: {
      run: (number) => film.run(inits.tracks[number]),
      fragment: (runs, { at }) => film.fragment(runs, at),
    },
  });
  const tracks = film.tracks
    .filter(({ count }) => count > 0)
    .sort((a, b) => Number(b.isVideo) - Number(a.isVideo));
  if (tracks.length === 0) return undefined;
  for (const track of tracks) track.close();
  const startedAt = segments[0].wallStart;
  yield;
  const head = join([FILE_TYPE, ...writeMoov(tracks, { startedAt })]);
  yield;
  const moov = head.subarray(FILE_TYPE.length);
  const size = end + moov.length;
  if (io.size > size) io.truncate(size);
  for (let at = 0; at < moov.length; at += pieceBytes) {
    io.write(end + at, moov.subarray(at, at + pieceBytes));
    yield;
  }
  mapChunkOffsets(boxAround('moov', moov, 8), (offset) => offset + moov.length);
  yield;
  return {
    size,
    head: { bytes: head, from: FILE_TYPE.length, to: end },
    index: writeSegmentIndex({ inits: inits.list, bandwidth: bandwidthOf(segments), segments }),
    spec: videoSpec(tracks, { size }),
    startedAt,
  };
}

/** Bytes of the moov that are written at once. */
const pieceBytes = 262_144;

export function bandwidthOf(segments: readonly IndexedSegment[]): SegmentIndex['bandwidth'] {
  const longest = segments.reduce((most, { duration }) => Math.max(most, duration), 0);
  // As a playlist says it: the greatest duration, rounded.
  const target = Math.max(1, Math.round(longest));
  const rate = new Rate();
  for (const { size, duration } of segments) if (duration > 0) rate.add(size, duration, target);
  return { average: rate.average, peak: rate.peak };
}
