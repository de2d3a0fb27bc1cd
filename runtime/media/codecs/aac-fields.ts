import type { Bits } from './bits.ts';

/** `GetAudioObjectType()`, ISO/IEC 14496-3 1.6.2.1. */
export function readType(bits: Bits): number {
  const type = bits.read(5);
  return type === 31 ? 32 + bits.read(6) : type;
}

/** `samplingFrequencyIndex`, and the rate itself where that says so; hertz. 0 for an index that is reserved. */
export function readRate(bits: Bits): number {
  const index = bits.read(4);
  return index === 15 ? bits.read(24) : (RATES[index] ?? 0);
}

const RATES = [96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350];
