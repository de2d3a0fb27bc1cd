import { type AacOutput, parseAac, readAacOutput } from '../../codecs/aac.ts';
import { parseAvc } from '../../codecs/avc.ts';
import type { AudioConfig, VideoConfig } from '../../codecs/config.ts';
import { join, box as writeBox } from '../box.ts';
import { type Box, Children, Fields, Refusal } from './boxes.ts';

/** Longest box of pixel shape or colour that is taken over; none needs as much. */
const maxShapeBytes = 4096;

/** What a sample entry (ISO/IEC 14496-12 8.5.2) says of the samples that refer to it. */
export type SampleEntry = VideoEntry | AudioEntry | OtherEntry;

export interface VideoEntry {
  readonly kind: 'h264';
  /** As its SPS says: what the entry itself says of the size is less true. */
  readonly config: VideoConfig;
  readonly pixelFormat: string | undefined;
  /** AVCDecoderConfigurationRecord. */
  readonly record: Uint8Array;
  /** Its boxes for shape and colour (`pasp`, `colr`), as they are. */
  readonly boxes: Uint8Array;
  /** Of the data references, from 1. */
  readonly dataReference: number;
}

export interface AudioEntry {
  readonly kind: 'aac';
  readonly config: AudioConfig;
  /** What a decoder makes of it. */
  readonly output: AacOutput;
  /** AudioSpecificConfig. */
  readonly record: Uint8Array;
  readonly dataReference: number;
}

export interface OtherEntry {
  readonly kind: 'other';
  /** As people call it. */
  readonly name: string;
  readonly isStill: boolean;
}

/** @param track how a message names the track */
export function readSampleEntry(box: Box, track: string): SampleEntry {
  if (encrypted.includes(box.type))
    throw new Refusal(`${track} is encrypted (${box.type}); expected H.264 or AAC in the clear`);
  if (box.type === 'avc1' || box.type === 'avc3') return readVideo(box, track);
  if (box.type === 'mp4a') return readAudio(box, track);
  return { kind: 'other', ...nameCodec(box.type) };
}

const encrypted = ['encv', 'enca', 'enct', 'encs', 'encu', 'drmi', 'drms', 'drmt'];

function readVideo(box: Box, track: string): VideoEntry {
  const fields = new Fields(box);
  fields.skip(6);
  const dataReference = fields.u16();
  // The rest of VisualSampleEntry, 12.1.3: what it says of the size is less true than the SPS.
  fields.skip(70);
  const children = new Children(box, fields.at - box.from);
  const avcC = children.find('avcC');
  if (avcC === undefined) throw new Refusal(`${track} says that it is H.264, but has no avcC box`);
  const record = payload(avcC);
  const avc = parseAvc(record);
  if ('malformed' in avc) throw new Refusal(`the avcC box of ${track} cannot be read: ${avc.malformed}`);
  const entry = box.type === 'avc3' ? 'avc3' : 'avc1';
  return {
    kind: 'h264',
    config: { ...avc, entry, box: 'avcC', codec: avc.codec.replace('avc1', entry) },
    pixelFormat: avc.pixelFormat,
    record,
    boxes: join([...shapes(children)]),
    dataReference,
  };
}

/** At most one of each, and none that is longer than they are. */
function* shapes(children: Children): Generator<Uint8Array> {
  for (const type of ['pasp', 'colr']) {
    const found = children.all.find((box) => box.type === type);
    if (found !== undefined && found.to - found.from <= maxShapeBytes) yield writeBox(type, payload(found));
  }
}

function payload(box: Box): Uint8Array {
  return new Fields(box).bytes(box.to - box.from);
}

function readAudio(box: Box, track: string): SampleEntry {
  const fields = new Fields(box);
  fields.skip(6);
  const dataReference = fields.u16();
  const version = fields.u16();
  fields.skip(18);
  // QuickTime's longer descriptions, as also many an mp4 has them.
  if (version === 1) fields.skip(16);
  if (version === 2) fields.skip(36);
  const children = new Children(box, fields.at - box.from);
  const wave = children.find('wave');
  const esds = children.find('esds') ?? (wave === undefined ? undefined : new Children(wave).find('esds'));
  if (esds === undefined) throw new Refusal(`${track} says that it is MPEG-4 audio, but has no esds box`);
  const { objectType, config } = readDescriptor(esds, track);
  if (![0x40, 0x66, 0x67, 0x68].includes(objectType))
    return { kind: 'other', name: nameObject(objectType), isStill: false };
  if (config === undefined) throw new Refusal(`the esds box of ${track} has no configuration of AAC`);
  const aac = parseAac(config);
  if ('malformed' in aac) throw new Refusal(`the configuration of ${track} cannot be read: ${aac.malformed}`);
  return {
    kind: 'aac',
    config: { ...aac, entry: 'mp4a' },
    output: readAacOutput(config) ?? aac,
    record: config,
    dataReference,
  };
}

/** ES_Descriptor, ISO/IEC 14496-1 7.2.6.5: the object type, and the configuration of the decoder. */
function readDescriptor(esds: Box, track: string): { objectType: number; config: Uint8Array | undefined } {
  const fields = new Fields(esds);
  const begin = (tag: number): number => {
    const found = fields.u8();
    if (found !== tag)
      throw new Refusal(`the esds box of ${track} has descriptor ${found} where ${tag} was expected`);
    let size = 0;
    for (let i = 0; i < 4; i += 1) {
      const byte = fields.u8();
      size = size * 128 + (byte & 0x7f);
      if (byte < 0x80) break;
    }
    return size;
  };
  fields.full();
  begin(3);
  fields.skip(2);
  const flags = fields.u8();
  if ((flags & 0x80) !== 0) fields.skip(2);
  if ((flags & 0x40) !== 0) fields.skip(fields.u8());
  if ((flags & 0x20) !== 0) fields.skip(2);
  const end = begin(4) + fields.at;
  const objectType = fields.u8();
  fields.skip(12);
  if (fields.at >= end || fields.left === 0) return { objectType, config: undefined };
  return { objectType, config: fields.bytes(begin(5)) };
}

/** How people call the codec of a sample entry, and whether it is of pictures that do not move. */
function nameCodec(type: string): { readonly name: string; readonly isStill: boolean } {
  const isStill = ['jpeg', 'mjpa', 'mjpb', 'png ', 'tiff', 'mjpg'].includes(type);
  const name = names[type];
  return { name: name === undefined ? `'${type}'` : `${name} (${type.trim()})`, isStill };
}

/** The same of an objectTypeIndication, ISO/IEC 14496-1 7.2.6.6. */
function nameObject(type: number): string {
  return objectNames[type] ?? `MPEG-4 object type ${type}`;
}

const objectNames: Readonly<Record<number, string>> = {
  105: 'MP3',
  107: 'MP3',
  165: 'AC-3',
  166: 'E-AC-3',
  169: 'DTS',
  173: 'Opus',
  221: 'Vorbis',
};

const names: Readonly<Record<string, string>> = {
  __proto__: null as never,
  'ac-3': 'AC-3',
  'ac-4': 'AC-4',
  'ec-3': 'E-AC-3',
  'png ': 'PNG',
  alac: 'Apple Lossless',
  ap4h: 'ProRes',
  apch: 'ProRes',
  apcn: 'ProRes',
  apco: 'ProRes',
  apcs: 'ProRes',
  av01: 'AV1',
  dvh1: 'Dolby Vision',
  dvhe: 'Dolby Vision',
  dva1: 'Dolby Vision',
  dvav: 'Dolby Vision',
  fLaC: 'FLAC',
  hev1: 'HEVC',
  hvc1: 'HEVC',
  ipcm: 'PCM',
  jpeg: 'JPEG',
  lpcm: 'PCM',
  mp4v: 'MPEG-4 Visual',
  Opus: 'Opus',
  s263: 'H.263',
  samr: 'AMR',
  sowt: 'PCM',
  twos: 'PCM',
  vp08: 'VP8',
  vp09: 'VP9',
  vvc1: 'VVC',
};
