import { copyBytes } from '../../../base/copy-bytes.ts';
import {
  AUDIO_AAC,
  AUDIO_OPUS,
  AudioMessage,
  FRAME,
  HEADER,
  VIDEO_AV1,
  VIDEO_AVC,
  VIDEO_HEVC,
  VideoMessage,
} from '../../flv/message.ts';
import type { Framing } from '../connection.ts';

/** What the reader of the FLV can do. */
export interface FlvReader {
  /** Reads H.265 in the form of Enhanced RTMP (ffmpeg 6.1). */
  readonly hevc: boolean;
  /** Reads Opus in the form of Enhanced RTMP v2 (ffmpeg 8.0). */
  readonly opus: boolean;
}

/** FLV header (Adobe FLV 10.1, E.2) that says: sound and pictures; and that no tag is before the first. */
const preamble = Uint8Array.of(0x46, 0x4c, 0x56, 1, 5, 0, 0, 0, 9, 0, 0, 0, 0);
const TAG = 11;
const SIZE_BEHIND = 4;
const AUDIO = 8;
const VIDEO = 9;
/** An old message in H.265 has three bytes less than the new one that it becomes. */
const GROWTH = 3;
/** The size of a tag has 24 bits. */
const LARGEST = 0xffffff;

/**
 * Messages as tags of an FLV file (E.4.1), for a reader that goes on to MPEG-TS. Each is written anew in the form that most
 * readers know: H.264 and AAC in the old one, whatever form they came in, and of several tracks the first. Data messages are
 * left out: nobody behind the reader would see them. `onUnreadable` is called once, in plain words, for a codec that the reader
 * does not know or MPEG-TS cannot carry.
 */
export function flvFraming(reader: FlvReader, onUnreadable: (what: string) => void): Framing {
  const video = new VideoMessage();
  const audio = new AudioMessage();
  let isReported = false;
  const unreadable = (at: number, what: string): number => {
    if (!isReported) onUnreadable(what);
    isReported = true;
    return at;
  };

  const writePicture = (out: Uint8Array, at: number, bytes: Uint8Array): number => {
    const { kind, codec, cts } = video;
    const first = video.isKey || kind === HEADER ? 0x10 : 0x20;
    let to = at;
    if (codec === VIDEO_AVC) {
      out[to++] = first | 7;
      out[to++] = kind === HEADER ? 0 : 1;
      to = write24(out, to, kind === HEADER ? 0 : cts);
    } else {
      // PacketTypeSequenceStart, and PacketTypeCodedFrames with its composition time (Enhanced RTMP v1).
      out[to++] = 0x80 | first | (kind === HEADER ? 0 : 1);
      to = writeCode(out, to, codec);
      if (kind === FRAME) to = write24(out, to, cts);
    }
    return copy(out, to, bytes, video.at, video.end);
  };

  const writeSound = (out: Uint8Array, at: number, bytes: Uint8Array): number => {
    const { kind, codec } = audio;
    let to = at;
    if (codec === AUDIO_AAC) {
      // For AAC what rate, size and channels say is not looked at (E.4.2.1).
      out[to++] = 0xaf;
      out[to++] = kind === HEADER ? 0 : 1;
    } else {
      out[to++] = 0x90 | (kind === HEADER ? 0 : 1);
      to = writeCode(out, to, codec);
    }
    return copy(out, to, bytes, audio.at, audio.end);
  };

  return {
    preamble,
    sizeOf: (length) => TAG + length + GROWTH + SIZE_BEHIND,
    write(out, at, type, timestamp, bytes, start, end) {
      if ((type !== AUDIO && type !== VIDEO) || end - start > LARGEST - GROWTH) return at;
      const message = type === VIDEO ? video : audio;
      message.read(bytes, start, end);
      if (message.kind !== HEADER && message.kind !== FRAME) return at;
      const { codec } = message;
      if (type === VIDEO && codec !== VIDEO_AVC && !(codec === VIDEO_HEVC && reader.hevc)) {
        return unreadable(at, pictures(codec));
      }
      if (type === AUDIO && codec !== AUDIO_AAC && !(codec === AUDIO_OPUS && reader.opus)) {
        return unreadable(at, codec === AUDIO_OPUS ? 'sound in Opus' : 'the sound of this broadcast');
      }
      const body = at + TAG;
      const to = type === VIDEO ? writePicture(out, body, bytes) : writeSound(out, body, bytes);
      out[at] = type;
      write24(out, at + 1, to - body);
      write24(out, at + 4, timestamp);
      out[at + 7] = timestamp / 0x1000000;
      write24(out, at + 8, 0);
      writeCode(out, to, to - at);
      return to + SIZE_BEHIND;
    },
  };
}

function pictures(codec: number): string {
  if (codec === VIDEO_HEVC) return 'pictures in H.265';
  return codec === VIDEO_AV1 ? 'pictures in AV1' : 'the pictures of this broadcast';
}

function write24(out: Uint8Array, at: number, value: number): number {
  out[at] = value >>> 16;
  out[at + 1] = value >>> 8;
  out[at + 2] = value;
  return at + 3;
}

function writeCode(out: Uint8Array, at: number, value: number): number {
  out[at] = value >>> 24;
  return write24(out, at + 1, value);
}

function copy(out: Uint8Array, at: number, bytes: Uint8Array, start: number, end: number): number {
  copyBytes(bytes, start, out, at, end - start);
  return at + end - start;
}
