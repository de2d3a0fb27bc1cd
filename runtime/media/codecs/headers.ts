import { AUDIO_AAC, VIDEO_AV1, VIDEO_AVC, VIDEO_HEVC } from '../flv/codec.ts';
import { parseAac } from './aac.ts';
import { parseAv1 } from './av1.ts';
import { parseAvc } from './avc.ts';
import type { AudioConfig, Malformed, VideoConfig } from './config.ts';
import { parseHevc } from './hevc.ts';
import { parseOpus } from './opus.ts';

/** Reads the sequence header of a codec that `videoName` knows. Malformed input gives `{malformed}`. */
export function readVideoHeader(codec: number, record: Uint8Array): VideoConfig | Malformed {
  if (codec === VIDEO_AVC) {
    const avc = parseAvc(record);
    if ('malformed' in avc) return avc;
    return { ...avc, entry: 'avc1', box: 'avcC', issue: RARE_AVC.has(record[1]) ? RARE_PROFILE : undefined };
  }
  if (codec === VIDEO_HEVC) {
    const hevc = parseHevc(record);
    if ('malformed' in hevc) return hevc;
    return { ...SQUARE, ...hevc, entry: 'hvc1', box: 'hvcC', frameRate: undefined, issue: HEVC_VIEWERS };
  }
  if (codec === VIDEO_AV1) {
    const av1 = parseAv1(record);
    return 'malformed' in av1 ? av1 : { ...SQUARE, ...av1, entry: 'av01', box: 'av1C', issue: undefined };
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
/** profile_idc of more than 8 bits or other chroma than 4:2:0: High 10, High 4:2:2, High 4:4:4, CAVLC 4:4:4. */
const RARE_AVC = new Set([110, 122, 244, 44]);
const RARE_PROFILE =
  'the H.264 profile is one that browsers do not play; encode 8-bit 4:2:0 (ffmpeg: -pix_fmt yuv420p)';
const HEVC_VIEWERS =
  'H.265 video plays only in Safari and where the device decodes it in hardware; H.264 plays everywhere';
