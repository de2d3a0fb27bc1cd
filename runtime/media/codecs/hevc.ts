import { Bits, withoutEmulation } from './bits.ts';
import type { Malformed, VideoConfig } from './config.ts';
import { hevcSets } from './parameter-sets.ts';

/** `codec` is that of ISO/IEC 14496-15 annex E.3: `hvc1.1.6.L93.B0`; a side has at most 16384 pixels. */
export type HevcConfig = Pick<VideoConfig, 'codec' | 'width' | 'height' | 'frameRate'>;

/**
 * Reads an HEVCDecoderConfigurationRecord (ISO/IEC 14496-15 8.3.3.1) and its first SPS. The aspect ratio of
 * samples is left to the decoder. Malformed input of any kind gives `{malformed}`.
 */
export function parseHevc(record: Uint8Array): HevcConfig | Malformed {
  if (record.length < 23) return { malformed: 'it is too short' };
  // Some encoders still write the 0 of the standard's drafts.
  if (record[0] > 1) return { malformed: `its version is ${record[0]}, not 1` };
  if ((record[21] & 3) === 2) return { malformed: 'its NAL length size is 3' };
  const sets = hevcSets(record);
  if ('malformed' in sets) return sets;
  const first = sets.find(({ type }) => type === SPS);
  if (first === undefined) return { malformed: 'it has no sequence parameter set' };
  const sps = parseSps(first.bytes);
  return 'malformed' in sps ? sps : { codec: codecOf(record), ...sps };
}

const SPS = 33;

/** seq_parameter_set_rbsp, ITU-T H.265 7.3.2.2.1. */
function parseSps(nal: Uint8Array): Omit<HevcConfig, 'codec'> | Malformed {
  const bits = new Bits(withoutEmulation(nal.subarray(2)));
  bits.read(4);
  const subLayers = bits.read(3);
  bits.read(1);
  skipProfile(bits, subLayers);
  bits.unsigned();
  const chroma = bits.unsigned();
  const isSeparate = chroma === 3 && bits.flag();
  const codedWidth = bits.unsigned();
  const codedHeight = bits.unsigned();
  const crop = [0, 0, 0, 0];
  if (bits.flag()) for (let i = 0; i < 4; i += 1) crop[i] = bits.unsigned();
  if (bits.isOver) return { malformed: 'its SPS is cut short' };
  if (chroma > 3) return { malformed: `its chroma format is ${chroma}` };
  const isHalved = !isSeparate && (chroma === 1 || chroma === 2);
  const width = codedWidth - (isHalved ? 2 : 1) * (crop[0] + crop[1]);
  const height = codedHeight - (chroma === 1 ? 2 : 1) * (crop[2] + crop[3]);
  if (!(width > 0 && width <= 16_384 && height > 0 && height <= 16_384))
    return { malformed: `its picture size is ${width}x${height}` };
  // What follows is cut short in some records: it costs only the frame rate.
  return { width, height, frameRate: hasVui(bits, subLayers) ? readFrameRate(bits) : undefined };
}

/** Skips the rest of the SPS in front of its VUI. False when there is none. */
function hasVui(bits: Bits, subLayers: number): boolean {
  bits.unsigned();
  bits.unsigned();
  const orderBits = bits.unsigned() + 4;
  const layers = bits.flag() ? subLayers + 1 : 1;
  // Per layer: most pictures decoded ahead, most reordered, most delayed. Then the six sizes of blocks.
  for (let i = 0; i < layers * 3 + 6; i += 1) bits.unsigned();
  if (bits.flag() && bits.flag()) skipScalingLists(bits);
  bits.read(2);
  if (bits.flag()) {
    bits.read(8);
    bits.unsigned();
    bits.unsigned();
    bits.flag();
  }
  if (!skipPictureSets(bits)) return false;
  if (bits.flag()) {
    const count = bits.unsigned();
    if (count > 32) return false;
    for (let i = 0; i < count; i += 1) bits.read(orderBits + 1);
  }
  bits.read(2);
  return bits.flag();
}

/** scaling_list_data, 7.3.4. */
function skipScalingLists(bits: Bits): void {
  for (let size = 0; size < 4; size += 1) {
    for (let matrix = 0; matrix < 6; matrix += size === 3 ? 3 : 1) {
      if (!bits.flag()) {
        bits.unsigned();
        continue;
      }
      if (size > 1) bits.signed();
      for (let left = Math.min(64, 16 << (2 * size)); left > 0; left -= 1) bits.signed();
    }
  }
}

/** The st_ref_pic_set of an SPS, 7.3.7. False when they are more than the standard allows. */
function skipPictureSets(bits: Bits): boolean {
  const sets = bits.unsigned();
  if (sets > 64) return false;
  /** Pictures of the set before. */
  let pictures = 0;
  for (let set = 0; set < sets; set += 1) {
    if (set > 0 && bits.flag()) {
      bits.flag();
      bits.unsigned();
      let kept = 0;
      // used_by_curr_pic_flag; without it use_delta_flag says whether the picture is in the set at all.
      for (let i = 0; i <= pictures; i += 1) if (bits.flag() || bits.flag()) kept += 1;
      pictures = kept;
    } else {
      pictures = bits.unsigned() + bits.unsigned();
      for (let i = 0; i < pictures && i < 32; i += 1) {
        bits.unsigned();
        bits.flag();
      }
    }
    if (pictures > 16) return false;
  }
  return true;
}

/** vui_parameters up to the timing, annex E.2.1. */
function readFrameRate(bits: Bits): number | undefined {
  if (bits.flag() && bits.read(8) === 255) bits.read(32);
  if (bits.flag()) bits.flag();
  if (bits.flag()) {
    bits.read(4);
    if (bits.flag()) bits.read(24);
  }
  if (bits.flag()) {
    bits.unsigned();
    bits.unsigned();
  }
  bits.flag();
  const isFields = bits.flag();
  bits.flag();
  if (bits.flag()) for (let i = 0; i < 4; i += 1) bits.unsigned();
  if (!bits.flag()) return undefined;
  const units = bits.read(32);
  const rate = bits.read(32) / units / (isFields ? 2 : 1);
  return !bits.isOver && rate >= 1 && rate <= 300 ? rate : undefined;
}

/** profile_tier_level, 7.3.3. */
function skipProfile(bits: Bits, subLayers: number): void {
  skip(bits, 96);
  const has: boolean[] = [];
  for (let i = 0; i < subLayers * 2; i += 1) has.push(bits.flag());
  if (subLayers > 0) skip(bits, 2 * (8 - subLayers));
  for (let i = 0; i < subLayers; i += 1) skip(bits, (has[2 * i] ? 88 : 0) + (has[2 * i + 1] ? 8 : 0));
}

function skip(bits: Bits, count: number): void {
  for (let left = count; left > 0; left -= 32) bits.read(Math.min(32, left));
}

function codecOf(record: Uint8Array): string {
  const space = ['', 'A', 'B', 'C'][record[1] >> 6];
  let compatible = 0;
  for (let i = 0; i < 32; i += 1) compatible += ((record[2 + (i >> 3)] >> (7 - (i & 7))) & 1) * 2 ** i;
  let last = 11;
  while (last >= 6 && record[last] === 0) last -= 1;
  const constraints = [...record.subarray(6, last + 1)].map((byte) => `.${byte.toString(16).toUpperCase()}`);
  const tier = record[1] & 32 ? 'H' : 'L';
  const profile = `${space}${record[1] & 31}.${compatible.toString(16).toUpperCase()}`;
  return `hvc1.${profile}.${tier}${record[12]}${constraints.join('')}`;
}
