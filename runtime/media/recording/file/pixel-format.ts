import { parseAvc } from '../../codecs/avc.ts';
import { children } from './read-init.ts';

/** How ffmpeg names the pixels that this sample entry is decoded to, `yuv420p10le`; undefined where it does not tell. */
export function pixelFormat(entry: Uint8Array): string | undefined {
  const boxes = children(entry, 86);
  const avcC = boxes?.find(({ type }) => type === 'avcC');
  if (avcC !== undefined) {
    const avc = parseAvc(avcC.bytes.subarray(8));
    return 'malformed' in avc ? undefined : avc.pixelFormat;
  }
  const found = boxes?.find(({ type }) => readers[type] !== undefined);
  const shape = found && readers[found.type](found.bytes.subarray(8));
  if (shape === undefined) return undefined;
  const { chroma, depth } = shape;
  const layout = ['gray', 'yuv420p', 'yuv422p', 'yuv444p'][chroma];
  if (layout === undefined || ![8, 10, 12].includes(depth)) return undefined;
  return depth === 8 ? layout : `${layout}${depth}le`;
}

interface Shape {
  /** chroma_format_idc: none, 4:2:0, 4:2:2, 4:4:4. */
  readonly chroma: number;
  /** Bits. */
  readonly depth: number;
}

const readers: Readonly<Record<string, (record: Uint8Array) => Shape>> = {
  // ISO/IEC 14496-15 8.3.3.1.2.
  hvcC: (record) => ({ chroma: record[16] & 3, depth: (record[17] & 7) + 8 }),
  av1C: readAv1,
};

/** AV1 in ISOBMFF 2.3.3. */
function readAv1(record: Uint8Array): Shape {
  const flags = record[2];
  const depth = flags & 0x40 ? (flags & 0x20 ? 12 : 10) : 8;
  if (flags & 0x10) return { chroma: 0, depth };
  return { chroma: flags & 0x08 ? (flags & 0x04 ? 1 : 2) : 3, depth };
}
