import type { Container } from '../../../../core/ports/inspector.ts';

/** What a file is that does not begin like an mp4, by its first bytes; undefined when nothing is known. 189 are enough. */
export function sniff(start: Uint8Array): string | undefined {
  if (start[0] === 0x47 && start[0xbc] === 0x47) return 'an MPEG transport stream';
  const text = String.fromCharCode(...start.subarray(0, 16));
  return kinds.find(([begin, offset]) => text.startsWith(begin, offset))?.[2];
}

/**
 * Which container a film is in that is no mp4, for whoever has to be told and may not guess. Stricter than `sniff`: what begins
 * with it must be nothing else. Undefined: it is none that is read.
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
