import { AUDIO_AAC, VIDEO_AV1, VIDEO_AVC, VIDEO_HEVC } from '../flv/message.ts';
import { parseAac } from './aac.ts';
import { parseAv1 } from './av1.ts';
import { parseAvc } from './avc.ts';
import type { AudioConfig, Malformed, VideoConfig } from './config.ts';
import { parseHevc } from './hevc.ts';
import { parseOpus } from './opus.ts';

/** Reads the sequence header of a codec that can be passed on. Malformed input gives `{malformed}`. */
export function readVideoHeader(codec: number, record: Uint8Array): VideoConfig | Malformed {
  if (codec === VIDEO_AVC) {
    const avc = parseAvc(record);
    if ('malformed' in avc) return avc;
    return { ...avc, entry: 'avc1', box: 'avcC' };
  }
  if (codec === VIDEO_HEVC) {
    const hevc = parseHevc(record);
    if ('malformed' in hevc) return hevc;
    return { ...SQUARE, ...hevc, entry: 'hvc1', box: 'hvcC' };
  }
  if (codec === VIDEO_AV1) {
    const av1 = parseAv1(record);
    return 'malformed' in av1 ? av1 : { ...SQUARE, ...av1, entry: 'av01', box: 'av1C' };
  }
  return { malformed: 'its codec is not known' };
}

/** The same for audio. */
export function readAudioHeader(codec: number, record: Uint8Array): AudioConfig | Malformed {
  if (codec === AUDIO_AAC) {
    const aac = parseAac(record);
    return 'malformed' in aac ? aac : { ...aac, entry: 'mp4a' };
  }
  const opus = parseOpus(record);
  return 'malformed' in opus ? opus : { ...opus, entry: 'Opus' };
}

const SQUARE = { sarWidth: 1, sarHeight: 1 };
