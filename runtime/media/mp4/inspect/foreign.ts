import type { Container } from '../../../../core/ports/inspector.ts';

/** What a file is that does not begin like an mp4, by its first bytes; undefined when nothing is known. 189 are enough. */
export function sniff(start: Uint8Array): string | undefined {
  if (start[0] === 0x47 && start[0xbc] === 0x47) return 'an MPEG transport stream';
  const text = String.fromCharCode(...start.subarray(0, 16));
  return kinds.find(([begin, offset]) => text.startsWith(begin, offset))?.[2];
}

/**
 * The container that ffmpeg must read a film as. Stricter than `sniff`: no other format may begin like this. Undefined: none that
 * is converted.
 */
export function containerOf(start: Uint8Array): Container | undefined {
  const text = String.fromCharCode(...start.subarray(0, 1024));
  if (text.startsWith('\x1a\x45\xdf\xa3')) {
    // DocType (RFC 8794 §11.2.6): EBML holds other things too.
    return /^.{4,64}\x42\x82[\x84\x88](webm|matroska)/s.test(text) ? 'matroska' : undefined;
  }
  if (text.startsWith('FLV\x01') && text.startsWith('\x00\x00\x00\x09', 5)) return 'flv';
  if (text.startsWith('RIFF') && text.startsWith('AVI LIST', 8)) return 'avi';
  if (text.startsWith('\x00\x00\x01\xba')) return 'mpeg';
  // Packets of 188 bytes, or of 192 with a time in front (Blu-ray, AVCHD).
  const isStream = (size: number) => [1, 2, 3].every((n) => text[n * size - 188] === 'G');
  return isStream(188) || isStream(192) ? 'mpegts' : undefined;
}

const kinds: readonly (readonly [begin: string, at: number, name: string])[] = [
  ['\x1a\x45\xdf\xa3', 0, 'Matroska or WebM'],
  ['#EXTM3U', 0, 'an HLS playlist'],
  ['ffconcat', 0, "a list of files for ffmpeg's concat"],
  ['FLV\x01', 0, 'FLV'],
  ['OggS', 0, 'Ogg'],
  ['ID3', 0, 'MP3'],
  ['\xff\xfb', 0, 'MP3'],
  ['\xff\xf1', 0, 'AAC without a container'],
  ['fLaC', 0, 'FLAC'],
  ['AVI ', 8, 'AVI'],
  ['WAVE', 8, 'WAV'],
  ['WEBP', 8, 'a picture'],
  ['\x00\x00\x01\xba', 0, 'an MPEG programme stream'],
  ['\x00\x00\x00\x01\x67', 0, 'H.264 without a container'],
  ['\x30\x26\xb2\x75', 0, 'Windows Media'],
  ['\x89PNG', 0, 'a picture'],
  ['\xff\xd8\xff', 0, 'a picture'],
  ['GIF8', 0, 'a picture'],
  ['%PDF', 0, 'a PDF document'],
  ['PK\x03\x04', 0, 'a ZIP archive'],
  ['\x1f\x8b', 0, 'compressed with gzip'],
  ['<MPD', 0, 'a DASH manifest'],
  // What begins with a boundary (RFC 7578) is sent by `curl -F`, and by pages that send a FormData.
  ['------', 0, 'a form (multipart/form-data) and not the file itself'],
  ['<?xml', 0, 'XML'],
  ['<!DOCTYPE', 0, 'a web page'],
  ['<!doctype', 0, 'a web page'],
  ['<html', 0, 'a web page'],
];

/**
 * How long a film of another container says it is, seconds, by its first bytes: Matroska, FLV and AVI. Undefined: it says nothing, or
 * not here, or what makes no sense. Nothing checks it: it is the word of the file.
 */
export function declaredDuration(container: Container, start: DataView): number | undefined {
  const seconds = readers[container]?.(start);
  return seconds !== undefined && Number.isFinite(seconds) && seconds > 0 ? seconds : undefined;
}

const readers: Readonly<Partial<Record<Container, (start: DataView) => number | undefined>>> = {
  matroska: ofMatroska,
  flv: ofFlv,
  avi: ofAvi,
};

/** Elements of RFC 9559 §5.1. */
const SEGMENT = 0x18538067;
const INFO = 0x1549a966;
const TIMESTAMP_SCALE = 0x2ad7b1;
const DURATION = 0x4489;
const CLUSTER = 0x1f43b675;
const TIMESTAMP = 0xe7;

/** Where its times begin later than at 0, what it says may or may not be counted from there: the shorter is believed. */
function ofMatroska(start: DataView): number | undefined {
  let scale = 1e6;
  let duration: number | undefined;
  let first = 0;
  for (let at = 0; ; ) {
    const element = elementAt(start, at);
    if (element === undefined) break;
    const { id, from, to } = element;
    // What is in these is looked at one by one; of all others only how long they are.
    at = id === SEGMENT || id === INFO || id === CLUSTER ? from : to;
    if (id === TIMESTAMP_SCALE) scale = unsigned(start, element) ?? scale;
    if (id === DURATION) duration = float(start, element);
    if (id === TIMESTAMP) {
      first = unsigned(start, element) ?? 0;
      break;
    }
  }
  return duration === undefined ? undefined : ((duration - first) * scale) / 1e9;
}

interface Element {
  readonly id: number;
  /** Its data: `to` may lie behind what is there. */
  readonly from: number;
  readonly to: number;
}

/** EBML (RFC 8794 §4): number, length and data. Both are as long as the zeros in front of them say. */
function elementAt(view: DataView, at: number): Element | undefined {
  const id = variable(view, at, { isMarked: true });
  const size = id && variable(view, at + id.length, { isMarked: false });
  if (!id || !size) return undefined;
  const from = at + id.length + size.length;
  return { id: id.value, from, to: from + size.value };
}

/** `isMarked`: with the bit that ends the zeros in front, as the numbers of elements are written. */
function variable(view: DataView, at: number, { isMarked }: { readonly isMarked: boolean }) {
  if (at >= view.byteLength) return undefined;
  const first = view.getUint8(at);
  const length = Math.clz32(first) - 23;
  if (length > 8 || at + length > view.byteLength) return undefined;
  // Taken off before: of eight bytes with that bit a number cannot hold the last.
  let value = isMarked ? first : first - 2 ** (8 - length);
  for (let n = 1; n < length; n += 1) value = value * 256 + view.getUint8(at + n);
  return { value, length };
}

function unsigned(view: DataView, { from, to }: Element): number | undefined {
  if (to > view.byteLength || to - from > 8) return undefined;
  let value = 0;
  for (let at = from; at < to; at += 1) value = value * 256 + view.getUint8(at);
  return value;
}

function float(view: DataView, { from, to }: Element): number | undefined {
  if (to > view.byteLength) return undefined;
  if (to - from === 4) return view.getFloat32(from);
  return to - from === 8 ? view.getFloat64(from) : undefined;
}

/** The number `duration` of onMetaData, in the first tag (Adobe FLV 10.1 Annex E.5): its name and a double (AMF0). */
function ofFlv(start: DataView): number | undefined {
  const script = 0x12;
  if (start.byteLength < 14 || start.getUint8(13) !== script) return undefined;
  const text = Buffer.from(start.buffer, start.byteOffset, start.byteLength);
  const name = '\0\x08duration\0';
  const at = text.indexOf(name, 13, 'latin1') + name.length;
  return at >= name.length && at + 8 <= start.byteLength ? start.getFloat64(at) : undefined;
}

/** `avih`, the first thing in it: µs of a picture, and how many there are. Of one in several parts that is the first part. */
function ofAvi(start: DataView): number | undefined {
  const isFirst = start.byteLength >= 52 && start.getUint32(24) === 0x61766968;
  return isFirst ? (start.getUint32(32, true) * start.getUint32(48, true)) / 1e6 : undefined;
}
