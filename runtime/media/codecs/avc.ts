import { Bits, withoutEmulation } from './bits.ts';
import type { Malformed, VideoConfig } from './config.ts';
import { avcSets } from './parameter-sets.ts';

/** What a decoder configuration says about H.264 video; `codec` is `avc1.PPCCLL`, a side has at most 16384 pixels. */
export interface AvcConfig extends Omit<VideoConfig, 'entry' | 'box'> {
  /** Bytes of the length in front of every NAL unit: 1, 2 or 4. */
  readonly lengthSize: number;
  /** As ffmpeg names it: `yuv420p`, `yuv422p10le`; undefined for what no decoder knows. */
  readonly pixelFormat: string | undefined;
}

/**
 * Reads an AVCDecoderConfigurationRecord (ISO/IEC 14496-15 5.3.3.1) and its first SPS.
 * Malformed input of any kind gives `{malformed}` with the reason in plain words.
 */
export function parseAvc(record: Uint8Array): AvcConfig | Malformed {
  if (record.length < 8) return { malformed: 'it is too short' };
  if (record[0] !== 1) return { malformed: `its version is ${record[0]}, not 1` };
  const lengthSize = (record[4] & 3) + 1;
  if (lengthSize === 3) return { malformed: 'its NAL length size is 3' };
  const sets = avcSets(record);
  if ('malformed' in sets) return sets;
  const first = sets.find(({ type }) => type === 7);
  if (first === undefined) return { malformed: 'it has no sequence parameter set' };
  const sps = parseSps(first.bytes);
  return 'malformed' in sps ? sps : { ...sps, lengthSize };
}

const HIGH_PROFILES = new Set([100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]);
/** Table E-1 of ISO/IEC 14496-10, from aspect_ratio_idc 1. */
const ASPECTS = [
  1, 1, 12, 11, 10, 11, 16, 11, 40, 33, 24, 11, 20, 11, 32, 11, 80, 33, 18, 11, 15, 11, 64, 33, 160, 99, 4, 3,
  3, 2, 2, 1,
];

/** seq_parameter_set_rbsp, ISO/IEC 14496-10 7.3.2.1.1. */
function parseSps(nal: Uint8Array): Omit<AvcConfig, 'lengthSize'> | Malformed {
  if ((nal[0] & 31) !== 7) return { malformed: 'its first parameter set is no SPS' };
  if (nal.length < 4) return { malformed: 'its SPS is too short' };
  const bits = new Bits(withoutEmulation(nal.subarray(1)));
  const profile = bits.read(8);
  const constraints = bits.read(8);
  const level = bits.read(8);
  bits.unsigned();
  let chroma = 1;
  let isSeparate = false;
  let depth = 8;
  let chromaDepth = 8;
  if (HIGH_PROFILES.has(profile)) {
    chroma = bits.unsigned();
    if (chroma > 3) return { malformed: `its chroma format is ${chroma}` };
    if (chroma === 3) isSeparate = bits.flag();
    depth = bits.unsigned() + 8;
    chromaDepth = bits.unsigned() + 8;
    bits.flag();
    if (bits.flag()) for (let i = 0; i < (chroma === 3 ? 12 : 8); i += 1) skipScaling(bits, i < 6 ? 16 : 64);
  }
  bits.unsigned();
  const order = bits.unsigned();
  if (order === 0) bits.unsigned();
  else if (order === 1) {
    bits.flag();
    bits.signed();
    bits.signed();
    const cycle = bits.unsigned();
    if (cycle > 255) return { malformed: 'its SPS has a reference cycle that is too long' };
    for (let i = 0; i < cycle; i += 1) bits.signed();
  }
  bits.unsigned();
  bits.flag();
  const columns = bits.unsigned() + 1;
  const rows = bits.unsigned() + 1;
  const isFrame = bits.flag();
  if (!isFrame) bits.flag();
  bits.flag();
  const crop = [0, 0, 0, 0];
  if (bits.flag()) for (let i = 0; i < 4; i += 1) crop[i] = bits.unsigned();
  const hasVui = bits.flag();
  if (bits.isOver) return { malformed: 'its SPS is cut short' };
  const kind = isSeparate ? 0 : chroma;
  const unitX = kind === 1 || kind === 2 ? 2 : 1;
  const unitY = (kind === 1 ? 2 : 1) * (isFrame ? 1 : 2);
  const width = columns * 16 - unitX * (crop[0] + crop[1]);
  const height = rows * 16 * (isFrame ? 1 : 2) - unitY * (crop[2] + crop[3]);
  if (!(width > 0 && width <= 16_384 && height > 0 && height <= 16_384))
    return { malformed: `its picture size is ${width}x${height}` };
  const hex = (value: number) => value.toString(16).padStart(2, '0');
  const codec = `avc1.${hex(profile)}${hex(constraints)}${hex(level)}`;
  // A VUI that is cut short costs only what it would have told.
  const read = hasVui ? parseVui(bits) : PLAIN;
  const { color, ...vui } = bits.isOver ? PLAIN : read;
  const pixelFormat = depth === chromaDepth ? pixelFormatOf({ chroma, depth, color }) : undefined;
  return { codec, width, height, ...vui, pixelFormat };
}

/** As ffmpeg's decoder chooses it: grey pictures are 4:2:0 to it. */
function pixelFormatOf(options: { chroma: number; depth: number; color: Color }): string | undefined {
  const { chroma, depth, color } = options;
  if (![8, 9, 10, 12, 14].includes(depth)) return undefined;
  const bits = depth === 8 ? '' : `${depth}le`;
  if (chroma === 3 && color.isRgb) return `gbrp${bits}`;
  // Only with 8 bits is the full range a format of its own.
  const kind = color.isFullRange && depth === 8 ? 'yuvj' : 'yuv';
  return `${kind}${['420', '420', '422', '444'][chroma]}p${bits}`;
}

interface Color {
  readonly isFullRange: boolean;
  readonly isRgb: boolean;
}

interface Vui extends Pick<AvcConfig, 'sarWidth' | 'sarHeight' | 'frameRate'> {
  readonly color: Color;
}

const PLAIN: Vui = {
  sarWidth: 1,
  sarHeight: 1,
  frameRate: undefined,
  color: { isFullRange: false, isRgb: false },
};

/** vui_parameters up to the timing, ISO/IEC 14496-10 E.1.1. */
function parseVui(bits: Bits): Vui {
  let sarWidth = 1;
  let sarHeight = 1;
  if (bits.flag()) {
    const aspect = bits.read(8);
    if (aspect === 255) {
      sarWidth = bits.read(16);
      sarHeight = bits.read(16);
    } else if (aspect >= 1 && aspect <= 16) {
      sarWidth = ASPECTS[aspect * 2 - 2];
      sarHeight = ASPECTS[aspect * 2 - 1];
    }
    if (sarWidth === 0 || sarHeight === 0) sarWidth = sarHeight = 1;
  }
  if (bits.flag()) bits.flag();
  let isFullRange = false;
  let isRgb = false;
  if (bits.flag()) {
    bits.read(3);
    isFullRange = bits.flag();
    // matrix_coefficients 0: the planes are green, blue and red.
    if (bits.flag()) isRgb = (bits.read(24) & 0xff) === 0;
  }
  if (bits.flag()) {
    bits.unsigned();
    bits.unsigned();
  }
  let frameRate: number | undefined;
  if (bits.flag()) {
    const units = bits.read(32);
    const rate = bits.read(32) / 2 / units;
    if (rate >= 1 && rate <= 300) frameRate = rate;
  }
  return { sarWidth, sarHeight, frameRate, color: { isFullRange, isRgb } };
}

function skipScaling(bits: Bits, size: number): void {
  if (!bits.flag()) return;
  let last = 8;
  for (let i = 0; i < size && !bits.isOver; i += 1) {
    const next = (last + bits.signed() + 256) & 255;
    if (next === 0) return;
    last = next;
  }
}
