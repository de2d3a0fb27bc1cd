import { Bits } from './bits.ts';
import type { Malformed } from './config.ts';

/** What an AudioSpecificConfig says about AAC audio. */
export interface AacConfig {
  /** RFC 6381, `mp4a.40.N`. */
  readonly codec: string;
  /** Of the core decoder, 7350..96000 Hz: the timescale in which one frame lasts `frameLength`. */
  readonly sampleRate: number;
  /** 1..8; 2 when the configuration leaves it to the stream. */
  readonly channels: number;
  /** Samples per frame: 1024, or 960. */
  readonly frameLength: number;
}

/** What a decoder makes of AAC: with SBR twice the rate of the core, with PS two channels of one. */
export interface AacOutput {
  /** Hertz. */
  readonly sampleRate: number;
  readonly channels: number;
}

/** Reads an AudioSpecificConfig, ISO/IEC 14496-3 1.6.2.1. Malformed input gives `{malformed}`. */
export function parseAac(config: Uint8Array): AacConfig | Malformed {
  const bits = new Bits(config);
  const { kind, type, sampleRate, layout } = readHead(bits);
  const isShort = bits.flag();
  // The last flag may lie beyond a config that some encoders cut at two bytes; the rest must be there.
  if (config.length < 2) return { malformed: 'it is too short' };
  if (![1, 2, 3, 4].includes(type)) return { malformed: `its object type is ${type}, not AAC` };
  if (!(sampleRate >= 7350 && sampleRate <= 96_000)) return { malformed: `its sample rate is ${sampleRate}` };
  if (layout > 7) return { malformed: `its channel layout is ${layout}` };
  return {
    codec: `mp4a.40.${kind}`,
    sampleRate,
    channels: CHANNELS[layout] || 2,
    frameLength: isShort ? 960 : 1024,
  };
}

/**
 * The sound that comes out of a decoder, also where SBR follows the core's configuration for old decoders (1.6.5.2) and
 * where channels are listed one by one (4.4.1.1). SBR that only the frames announce is not seen. Undefined when the
 * configuration does not say; `parseAac` says what is wrong then.
 */
export function readAacOutput(config: Uint8Array): AacOutput | undefined {
  const bits = new Bits(config);
  const { kind, isExplicit, outputRate, layout } = readHead(bits);
  let sampleRate = outputRate;
  let hasPs = kind === PS;
  // GASpecificConfig: frame length, core coder, extension.
  bits.flag();
  if (bits.flag()) bits.read(14);
  bits.flag();
  const listed = layout === 0 ? readListedChannels(bits) : (CHANNELS[layout] ?? 0);
  if (bits.isOver) return undefined;
  if (!isExplicit && bits.read(11) === 0x2b7 && readType(bits) === SBR && bits.flag()) {
    const rate = readRate(bits);
    if (!bits.isOver && rate > 0) sampleRate = rate;
    hasPs = bits.read(11) === 0x548 && bits.flag();
  }
  const channels = hasPs && listed === 1 ? 2 : listed;
  return sampleRate > 0 && channels > 0 ? { sampleRate, channels } : undefined;
}

/** `kind`: the type as written; `type`: of the core, which follows explicit SBR and PS. Its rate stays the timescale. */
function readHead(bits: Bits) {
  const kind = readType(bits);
  const sampleRate = readRate(bits);
  const layout = bits.read(4);
  const isExplicit = kind === SBR || kind === PS;
  const outputRate = isExplicit ? readRate(bits) : sampleRate;
  const type = isExplicit ? readType(bits) : kind;
  return { kind, type, sampleRate, outputRate, layout, isExplicit };
}

/** `GetAudioObjectType()`, 1.6.2.1. */
function readType(bits: Bits): number {
  const type = bits.read(5);
  return type === 31 ? 32 + bits.read(6) : type;
}

/** `samplingFrequencyIndex`, and the rate itself where that says so; hertz. 0 for an index that is reserved. */
function readRate(bits: Bits): number {
  const index = bits.read(4);
  return index === 15 ? bits.read(24) : (RATES[index] ?? 0);
}

/** program_config_element, 4.4.1.1. */
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

const RATES = [96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350];
/** By the channel configuration; 0: listed one by one. */
const CHANNELS = [0, 1, 2, 3, 4, 5, 6, 8];
const SBR = 5;
const PS = 29;
