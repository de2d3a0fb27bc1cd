import { readRate, readType } from './aac-fields.ts';
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

const CHANNELS = [2, 1, 2, 3, 4, 5, 6, 8];

/** Reads an AudioSpecificConfig, ISO/IEC 14496-3 1.6.2.1. Malformed input gives `{malformed}`. */
export function parseAac(config: Uint8Array): AacConfig | Malformed {
  const bits = new Bits(config);
  let type = readType(bits);
  const kind = type;
  const sampleRate = readRate(bits);
  const layout = bits.read(4);
  if (type === 5 || type === 29) {
    // Explicit SBR/PS: the core's own type follows; the core's rate stays the timescale.
    readRate(bits);
    type = readType(bits);
  }
  const isShort = bits.flag();
  // The last flag may lie beyond a config that some encoders cut at two bytes; the rest must be there.
  if (config.length < 2) return { malformed: 'it is too short' };
  if (![1, 2, 3, 4].includes(type)) return { malformed: `its object type is ${type}, not AAC` };
  if (!(sampleRate >= 7350 && sampleRate <= 96_000)) return { malformed: `its sample rate is ${sampleRate}` };
  if (layout > 7) return { malformed: `its channel layout is ${layout}` };
  return {
    codec: `mp4a.40.${kind}`,
    sampleRate,
    channels: CHANNELS[layout],
    frameLength: isShort ? 960 : 1024,
  };
}
