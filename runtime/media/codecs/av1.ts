import { Bits } from './bits.ts';
import type { Malformed, VideoConfig } from './config.ts';

/** `codec` is `av01.P.LLT.DD` (AV1 Codec ISO Media File Format Binding, 5), the size the greatest of a picture. */
export type Av1Config = Pick<VideoConfig, 'codec' | 'width' | 'height' | 'frameRate'>;

/**
 * Reads an AV1CodecConfigurationRecord (AV1 in ISOBMFF 2.3) and the sequence header in it. Malformed input of
 * any kind gives `{malformed}`.
 */
export function parseAv1(record: Uint8Array): Av1Config | Malformed {
  if (record.length < 4) return { malformed: 'it is too short' };
  if (record[0] !== 0x81) return { malformed: `its marker and version are ${record[0]}, not 129` };
  const obu = sequenceHeader(record);
  if (obu === undefined) return { malformed: 'it has no sequence header' };
  const size = parseSequence(obu);
  if ('malformed' in size) return size;
  const level = `${record[1] & 31}`.padStart(2, '0');
  const depth = record[2] & 0x40 ? (record[2] & 0x20 ? '12' : '10') : '08';
  return { codec: `av01.${record[1] >> 5}.${level}${record[2] & 0x80 ? 'H' : 'M'}.${depth}`, ...size };
}

/** The payload of the first sequence header OBU behind the four bytes of flags. */
function sequenceHeader(record: Uint8Array): Uint8Array | undefined {
  let at = 4;
  while (at < record.length) {
    const head = record[at];
    at += head & 4 ? 2 : 1;
    let size = 0;
    // leb128, at most 8 bytes, AV1 specification 4.10.5; an OBU without size fills the rest.
    if (head & 2) {
      for (let i = 0; i < 8; i += 1) {
        const byte = record[at++] ?? 0;
        size += (byte & 127) * 128 ** i;
        if (byte < 128) break;
      }
    } else size = record.length - at;
    if (at + size > record.length) return undefined;
    if (((head >> 3) & 15) === SEQUENCE_HEADER) return record.subarray(at, at + size);
    at += size;
  }
  return undefined;
}

const SEQUENCE_HEADER = 1;

/** sequence_header_obu, AV1 specification 5.5.1, up to the size. */
function parseSequence(obu: Uint8Array): Omit<Av1Config, 'codec'> | Malformed {
  const bits = new Bits(obu);
  bits.read(4);
  let frameRate: number | undefined;
  if (bits.flag()) bits.read(5);
  else frameRate = skipOperatingPoints(bits);
  const widthBits = bits.read(4) + 1;
  const heightBits = bits.read(4) + 1;
  const width = bits.read(widthBits) + 1;
  const height = bits.read(heightBits) + 1;
  if (bits.isOver) return { malformed: 'its sequence header is cut short' };
  // A sample entry has 16 bits for each.
  if (width > 65_535 || height > 65_535) return { malformed: `its picture size is ${width}x${height}` };
  return { width, height, frameRate };
}

/** From timing_info to the last operating point. Returns the frame rate when there is a sensible one. */
function skipOperatingPoints(bits: Bits): number | undefined {
  let rate = 0;
  let delayBits = 0;
  if (bits.flag()) {
    const units = bits.read(32);
    rate = bits.read(32) / units;
    if (bits.flag()) rate /= bits.unsigned() + 1;
    if (bits.flag()) {
      delayBits = bits.read(5) + 1;
      bits.read(32);
      bits.read(10);
    }
  }
  const hasDelay = bits.flag();
  for (let left = bits.read(5) + 1; left > 0; left -= 1) {
    bits.read(12);
    if (bits.read(5) > 7) bits.read(1);
    if (delayBits > 0 && bits.flag()) {
      bits.read(delayBits);
      bits.read(delayBits);
      bits.read(1);
    }
    if (hasDelay && bits.flag()) bits.read(4);
  }
  return rate >= 1 && rate <= 300 ? rate : undefined;
}
