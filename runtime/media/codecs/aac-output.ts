import { readRate, readType } from './aac-fields.ts';
import { Bits } from './bits.ts';

/** What a decoder makes of AAC: with SBR twice the rate of the core, with PS two channels of one. */
export interface AacOutput {
  /** Hertz. */
  readonly sampleRate: number;
  readonly channels: number;
}

const CHANNELS = [0, 1, 2, 3, 4, 5, 6, 8];
const SBR = 5;
const PS = 0x1d;

/**
 * Reads what an AudioSpecificConfig (ISO/IEC 14496-3 1.6.2.1) says of the sound that comes out, also where it follows
 * the core's configuration for old decoders (1.6.5.2) and where channels are listed one by one (4.4.1.1). SBR that is told
 * nowhere but in the frames is not seen. Undefined where it cannot be told; `parseAac` says what is wrong then.
 */
export function readAacOutput(config: Uint8Array): AacOutput | undefined {
  const bits = new Bits(config);
  let type = readType(bits);
  let sampleRate = readRate(bits);
  const layout = bits.read(4);
  let channels = CHANNELS[layout] ?? 0;
  let hasPs = type === PS;
  const isExplicit = type === SBR || type === PS;
  if (isExplicit) {
    sampleRate = readRate(bits);
    type = readType(bits);
  }
  // GASpecificConfig: frame length, core coder, extension.
  bits.flag();
  if (bits.flag()) bits.read(14);
  bits.flag();
  if (layout === 0) channels = readListedChannels(bits);
  if (bits.isOver) return undefined;
  if (!isExplicit && bits.read(11) === 0x2b7 && readType(bits) === SBR && bits.flag()) {
    const rate = readRate(bits);
    if (!bits.isOver && rate > 0) sampleRate = rate;
    hasPs = bits.read(11) === 0x548 && bits.flag();
  }
  if (hasPs && channels === 1) channels = 2;
  return sampleRate > 0 && channels > 0 ? { sampleRate, channels } : undefined;
}

/** program_config_element, ISO/IEC 14496-3 4.4.1.1. */
function readListedChannels(bits: Bits): number {
  bits.read(10);
  const [front, side, back, low, data, coupling] = [4, 4, 4, 2, 3, 4].map((size) => bits.read(size));
  for (const size of [4, 4, 3]) if (bits.flag()) bits.read(size);
  let channels = low;
  for (let i = 0; i < front + side + back; i += 1) {
    channels += bits.flag() ? 2 : 1;
    bits.read(4);
  }
  bits.read(low * 4);
  bits.read(data * 4);
  for (let i = 0; i < coupling; i += 1) bits.read(5);
  bits.align();
  const comment = bits.read(8);
  for (let i = 0; i < comment; i += 1) bits.read(8);
  return channels;
}
