import { copyBytes } from '../../base/copy-bytes.ts';

/*
 * FLV message bodies as encoders send them: H.264 and AAC in the old format (Adobe FLV 10.1, E.4.2 and E.4.3), which every server
 * understands, Opus as Enhanced RTMP v2 has it.
 */

/** The header of H.264. @param record AVCDecoderConfigurationRecord */
export function avcHeader(record: Uint8Array): Uint8Array {
  return Uint8Array.of(KEY_AVC, SEQUENCE_HEADER, 0, 0, 0, ...record);
}

/** The header of a sound. @param record AudioSpecificConfig, or the one that begins with `OpusHead` */
export function soundHeader(format: SoundFormat, record: Uint8Array): Uint8Array {
  return format === 'mp4a'
    ? Uint8Array.of(AAC, SEQUENCE_HEADER, ...record)
    : Uint8Array.of(ENHANCED | SEQUENCE_HEADER, ...OPUS, ...record);
}

/** Bytes in front of a picture, and most of them in front of a sound. */
export const PICTURE_HEAD = 5;
export const SOUND_HEAD = 5;

type SoundFormat = 'mp4a' | 'Opus';

/** A sample in some buffer. */
interface Sample {
  readonly bytes: Uint8Array;
  readonly at: number;
  readonly size: number;
}

/** Writes the body of a picture to the front of `out`. `cts`: ms, signed. Answers its length. */
export function writePicture(
  out: Uint8Array,
  { bytes, at, size, cts, isKey }: Sample & { readonly cts: number; readonly isKey: boolean },
): number {
  out[0] = isKey ? KEY_AVC : AVC;
  out[1] = RAW;
  out[2] = cts >> 16;
  out[3] = cts >> 8;
  out[4] = cts;
  copyBytes(bytes, at, out, PICTURE_HEAD, size);
  return PICTURE_HEAD + size;
}

/** The same of a sound. */
export function writeSound(
  out: Uint8Array,
  { bytes, at, size, format }: Sample & { readonly format: SoundFormat },
): number {
  let head = 2;
  if (format === 'mp4a') {
    out[0] = AAC;
    out[1] = RAW;
  } else {
    out[0] = ENHANCED | RAW;
    out.set(OPUS, 1);
    head = SOUND_HEAD;
  }
  copyBytes(bytes, at, out, head, size);
  return head + size;
}

/** Frame type and codec. */
const KEY_AVC = 0x17;
const AVC = 0x27;
/** Of AAC the rate, size and channels that stand here are always these. */
const AAC = 0xaf;
const ENHANCED = 0x90;
const OPUS = [0x4f, 0x70, 0x75, 0x73];
/** Packet types, the same in all formats. */
const SEQUENCE_HEADER = 0;
const RAW = 1;
