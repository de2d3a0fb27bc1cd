import { boxes, bytesOf } from './box.ts';
import { must } from './rules.ts';

/** How a track's samples are coded, by its sample entry (ISO/IEC 14496-12 8.5.2). */
export interface SampleEntry {
  /** `avc1`, `hvc1`, `mp4a`, … */
  readonly type: string;
  /** As CODECS names it, where this reader knows; RFC 6381. */
  readonly codec: string | undefined;
  /** Bytes in front of each NAL unit; undefined when samples are not made of them. */
  readonly lengthSize: number | undefined;
}

/** The box that each kind of sample entry must have. */
const CONFIGS: Readonly<Record<string, string>> = {
  avc1: 'avcC',
  hvc1: 'hvcC',
  hev1: 'hvcC',
  av01: 'av1C',
  vp09: 'vpcC',
  mp4a: 'esds',
  Opus: 'dOps',
  'ac-3': 'dac3',
  'ec-3': 'dec3',
  fLaC: 'dfLa',
};

/** Reads the one entry of an stsd box, given its body; throws on what a decoder would choke on. */
export function readSampleEntry(stsd: Uint8Array, handler: string): SampleEntry {
  const entries = boxes(stsd.subarray(8));
  must(entries.length === 1, `an stsd has one entry, not ${entries.length}`);
  const [{ type }] = entries;
  const config = CONFIGS[type];
  must(config !== undefined, `a sample entry of a known kind, not ${type}`);
  const found = boxes(bytesOf(entries[0]).subarray(handler === 'vide' ? 78 : 28)).filter(
    (box) => box.type === config,
  );
  must(found.length === 1, `${type} has one ${config}`);
  const record = bytesOf(found[0]);
  if (config === 'avcC') return { type, ...readAvcC(record) };
  if (config === 'hvcC') return { type, codec: undefined, lengthSize: readHvcC(record) };
  must(record.length >= (config === 'esds' ? 20 : 4), `${config} is not empty`);
  return { type, codec: undefined, lengthSize: undefined };
}

/** AVCDecoderConfigurationRecord, ISO/IEC 14496-15 5.3.3.1. */
function readAvcC(record: Uint8Array): { codec: string; lengthSize: number } {
  must(record[0] === 1, `avcC has version 1, not ${record[0]}`);
  must(record[4] >> 2 === 63 && record[5] >> 5 === 7, 'reserved bits of avcC are 1');
  const sets = cursor(record, 5);
  const sps = sets.take(sets.byte() & 31);
  const pps = sets.take(sets.byte());
  must(sps.length > 0 && pps.length > 0, 'avcC has an SPS and a PPS');
  for (const set of sps) {
    must((set[0] & 31) === 7, 'an SPS of avcC is one');
    must(
      set[1] === record[1] && set[2] === record[2] && set[3] === record[3],
      'avcC has the profile of its SPS',
    );
  }
  for (const set of pps) must((set[0] & 31) === 8, 'a PPS of avcC is one');
  // The high profiles may have four bytes more; older encoders leave them out.
  must(record.length - sets.at === 0 || record.length - sets.at >= 4, 'avcC ends with its sets');
  const codec = `avc1.${Buffer.from(record.subarray(1, 4)).toString('hex')}`;
  return { codec, lengthSize: (record[4] & 3) + 1 };
}

/** HEVCDecoderConfigurationRecord, ISO/IEC 14496-15 8.3.3.1. Answers the length size. */
function readHvcC(record: Uint8Array): number {
  must(record[0] === 1, `hvcC has version 1, not ${record[0]}`);
  const sets = cursor(record, 22);
  const kinds = new Set<number>();
  for (let left = sets.byte(); left > 0; left -= 1) {
    const kind = sets.byte() & 63;
    kinds.add(kind);
    for (const set of sets.take(sets.byte() * 256 + sets.byte()))
      must(((set[0] >> 1) & 63) === kind, `a set of kind ${kind} in hvcC is one`);
  }
  must(
    [32, 33, 34].every((kind) => kinds.has(kind)),
    'hvcC has VPS, SPS and PPS',
  );
  must(sets.at === record.length, 'hvcC ends with its sets');
  return (record[21] & 3) + 1;
}

/** Walks along parameter sets with two bytes of length each. */
function cursor(record: Uint8Array, from: number) {
  const reader = {
    at: from,
    byte(): number {
      must(reader.at < record.length, 'a parameter set is not cut short');
      return record[reader.at++];
    },
    take(count: number): Uint8Array[] {
      return Array.from({ length: count }, () => {
        const size = reader.byte() * 256 + reader.byte();
        const set = record.subarray(reader.at, reader.at + size);
        must(size > 0 && set.length === size, 'a parameter set is not cut short');
        must(isEscaped(set), 'a parameter set has its emulation bytes and no start code');
        reader.at += size;
        return set;
      });
    },
  };
  return reader;
}

/** Inside a NAL unit 00 00 is never followed by 00, 01 or 02 (ISO/IEC 14496-10 7.4.1). */
function isEscaped(nal: Uint8Array): boolean {
  for (let i = 2; i < nal.length; i += 1)
    if (nal[i - 2] === 0 && nal[i - 1] === 0 && nal[i] < 3) return false;
  return true;
}

/** The NAL units of a sample, which they must fill exactly. */
function nalUnits(sample: Uint8Array, lengthSize: number): Uint8Array[] {
  const units: Uint8Array[] = [];
  for (let at = 0; at < sample.length; ) {
    let size = 0;
    for (let i = 0; i < lengthSize; i += 1) size = size * 256 + sample[at + i];
    const unit = sample.subarray(at + lengthSize, at + lengthSize + size);
    must(size > 0 && unit.length === size, `NAL units fill their sample, which has ${sample.length} bytes`);
    units.push(unit);
    at += lengthSize + size;
  }
  return units;
}

/** Whether a decoder can begin at this sample; undefined when this reader cannot tell. */
export function isKeyFrame(sample: Uint8Array, entry: SampleEntry): boolean | undefined {
  const { type, lengthSize } = entry;
  if (lengthSize === undefined) return undefined;
  const units = nalUnits(sample, lengthSize);
  if (type !== 'avc1')
    return units.some((unit) => ((unit[0] >> 1) & 63) >= 16 && ((unit[0] >> 1) & 63) <= 21);
  if (units.some((unit) => (unit[0] & 31) === 5)) return true;
  // A recovery point (D.2.8): encoders flag such frames as key frames, and decoders can begin there.
  return units.some((unit) => (unit[0] & 31) === 6 && unit[1] === 6) ? undefined : false;
}
