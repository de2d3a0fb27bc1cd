/** Cuts films as the program does, and reads what came of it. */
import { readSegmentBlock, readSegmentIndex, type SegmentIndex } from '../../core/vod/segment-index.ts';
import { inspectFile } from '../../runtime/media/mp4/inspect/inspect-file.ts';
import { readFilm } from '../../runtime/media/mp4/inspect/read-film.ts';
import { type Bytes, join } from './build.ts';

export interface CutFilm {
  readonly index: SegmentIndex;
  readonly heads: Bytes;
  readonly inits: readonly Bytes[];
  readonly segments: readonly Bytes[];
  /** Stretches of the file that each segment is put together of. */
  readonly pieces: readonly number[];
}

export function fileOf(bytes: Uint8Array) {
  return { size: bytes.length, read: async (from: number, to: number) => bytes.slice(from, to) };
}

/** Throws the reason when it is refused, or cannot be cut. */
export async function cut(bytes: Uint8Array): Promise<CutFilm> {
  const { inspection, playback } = await inspectFile(fileOf(bytes), { isPlayed: true });
  if (!inspection.ok) throw new Error(inspection.reason);
  const { hls } = playback ?? {};
  if (hls === undefined) throw new Error(inspection.uncut ?? 'it was not made to be played');
  const heads = join(...hls.heads);
  const index = readSegmentIndex(hls.index);
  const blocks = Array.from({ length: index.count }, (_, number) => {
    const { at, size } = index.segment(number);
    const block = heads.subarray(at, at + size);
    return { block, ...readSegmentBlock(block) };
  });
  return {
    index,
    heads,
    inits: index.inits.map(({ at, size }) => heads.slice(at, at + size)),
    segments: blocks.map(({ block, headAt, ranges }) =>
      join(block.subarray(headAt), ...ranges.map(([from, to]) => bytes.subarray(from, to))),
    ),
    pieces: blocks.map(({ ranges }) => ranges.length),
  };
}

export interface ReadSample {
  /** Seconds. */
  readonly dts: number;
  readonly pts: number;
  readonly isSync: boolean;
  readonly bytes: string;
}

/** All samples of a film, by the handler of their track. */
export async function readSamples(bytes: Uint8Array): Promise<Record<string, ReadSample[]>> {
  const { tracks } = await readFilm(fileOf(bytes));
  const round = (seconds: number) => Math.round(seconds * 1000) / 1000;
  const read = tracks.map(({ track, cursors }) => {
    const samples: ReadSample[] = [];
    for (const cursor of cursors()) {
      while (cursor.next()) {
        samples.push({
          dts: round(cursor.dts / track.timescale),
          pts: round((cursor.dts + cursor.shift) / track.timescale),
          isSync: cursor.isSync,
          bytes: Buffer.from(bytes.subarray(cursor.at, cursor.at + cursor.size)).toString('latin1'),
        });
      }
    }
    return [track.handler, samples] as const;
  });
  return Object.fromEntries(read);
}
