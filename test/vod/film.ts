import { createHash } from 'node:crypto';
import type { Blobs } from '../../core/ports/blobs.ts';
import { type IndexedInit, type IndexedSegment, writeSegmentIndex } from '../../core/vod/segment-index.ts';
import type { AssetFile } from '../../plugins/assets/contract.ts';

export const wall = Date.UTC(2026, 0, 1);
export const avc: Omit<IndexedInit, 'at' | 'size'> = {
  codecs: ['avc1.64001f', 'mp4a.40.2'],
  ...{ width: 1280, height: 720, frameRate: 30 },
};

/** The index of `count` segments of two seconds each behind one init; `change` says what is otherwise about some. */
export function indexOf(
  count: number,
  change: (number: number) => Partial<IndexedSegment> = () => ({}),
  inits: readonly IndexedInit[] = [{ at: 8, size: 20, ...avc }],
): Uint8Array<ArrayBuffer> {
  const segments = Array.from({ length: count }, (_, number) => ({
    ...{ at: 40 + number * 100, size: 90, duration: 2, wallStart: wall + number * 2000, init: 0 },
    isDiscontinuity: number === 0,
    ...change(number),
  }));
  return writeSegmentIndex({ inits, bandwidth: { average: 1_000_000.4, peak: 2_000_000 }, segments });
}

/** A film of made-up bytes in a blob store: what it consists of does not matter to who serves it. */
export async function givenFilm(
  blobs: Pick<Blobs, 'put'>,
  options: { id: string; index?: Uint8Array; bytes?: number },
): Promise<AssetFile & { readonly index: { key: string; size: number }; readonly bytes: Buffer }> {
  const { id, index = indexOf(5), bytes: length = 1000 } = options;
  const bytes = Buffer.from(Array.from({ length }, (_, at) => (at * 7 + (at >> 8)) & 0xff));
  const head = Buffer.from('head'.repeat(9));
  const sha256 = createHash('sha256').update(bytes).update(id).digest('hex');
  const folder = `assets/${id}`;
  await blobs.put(`${folder}/video.mp4`, bytes);
  await blobs.put(`${folder}/head.mp4`, head);
  await blobs.put(`${folder}/index.bin`, index);
  return {
    video: { key: `${folder}/video.mp4`, size: length, md5: 'x', sha256 },
    head: { key: `${folder}/head.mp4`, size: head.length, from: 24, to: length - 100 },
    index: { key: `${folder}/index.bin`, size: index.length },
    spec: { format: 'mp4', duration: 10, bitrate: 800, tracks: [] },
    bytes,
  };
}
