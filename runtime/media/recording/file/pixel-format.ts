import { Bits, withoutEmulation } from '../../codecs/bits.ts';
import { children } from './read-init.ts';

/** How ffmpeg names the pixels that this sample entry is decoded to, `yuv420p10le`; undefined where it does not tell. */
export function pixelFormat(entry: Uint8Array): string | undefined {
  const found = children(entry, 86)?.find(({ type }) => readers[type] !== undefined);
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

const readers: Readonly<Record<string, (record: Uint8Array) => Shape | undefined>> = {
  avcC: readAvc,
  // ISO/IEC 14496-15 8.3.3.1.2.
  hvcC: (record) => ({ chroma: record[16] & 3, depth: (record[17] & 7) + 8 }),
  av1C: readAv1,
};

/** Profiles whose SPS tells its chroma format; others have 4:2:0 with 8 bits. ISO/IEC 14496-10 7.3.2.1.1. */
const HIGH_PROFILES = new Set([100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]);

function readAvc(record: Uint8Array): Shape | undefined {
  if (!HIGH_PROFILES.has(record[1])) return { chroma: 1, depth: 8 };
  const size = record[6] * 256 + record[7];
  const bits = new Bits(withoutEmulation(record.subarray(9, 8 + size)));
  bits.read(24);
  bits.unsigned();
  const chroma = bits.unsigned();
  if (chroma === 3) bits.flag();
  const depth = bits.unsigned() + 8;
  return bits.isOver ? undefined : { chroma, depth };
}

/** AV1 in ISOBMFF 2.3.3. */
function readAv1(record: Uint8Array): Shape {
  const flags = record[2];
  const depth = flags & 0x40 ? (flags & 0x20 ? 12 : 10) : 8;
  if (flags & 0x10) return { chroma: 0, depth };
  return { chroma: flags & 0x08 ? (flags & 0x04 ? 1 : 2) : 3, depth };
}
