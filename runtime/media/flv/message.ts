/** What a message holds. */
export const NOTHING = 0;
export const HEADER = 1;
export const FRAME = 2;
/** A track beside the first, which is left out. */
export const OTHER_TRACK = 3;

/**
 * Reads FLV message bodies, old (Adobe FLV 10.1 E.4.2, E.4.3) and enhanced (Enhanced RTMP v1 and v2). One object
 * reads all messages of a track and is overwritten by each, so that nothing is allocated for one.
 *
 * Of several tracks in one message or connection the one with number 0 is taken.
 */
class FlvMessage {
  kind = NOTHING;
  /** FourCC as a number, or the number of the old format when it has no FourCC; set unless `kind` is NOTHING. */
  codec = 0;
  /** The header or frame is `bytes[at, end)`. */
  at = 0;
  end = 0;
  protected packet = 0;
  /** The high half of the first byte. */
  protected shape = 0;
  /** Extensions or other tracks are around what is of use, which begins at `payload`, behind a FourCC. */
  #isWrapped = false;
  #payload = 0;

  /**
   * Where a body begins of which the message alone is left: [that, `end`), without extensions and other tracks. `start`: where
   * the body that was read begins. What is overwritten for it lies before `at`, and was read.
   */
  unwrap(bytes: Uint8Array, start: number): number {
    if (!this.#isWrapped) return start;
    const from = this.#payload - 5;
    bytes[from] = this.shape | this.packet;
    for (let index = 0; index < 4; index += 1) bytes[from + 1 + index] = this.codec >>> (24 - 8 * index);
    return from;
  }

  /**
   * Reads from the byte behind the first: extensions, tracks, FourCC. False when it holds nothing of use.
   * `tracks`: the packet type that means several tracks.
   */
  protected readEnhanced(bytes: Uint8Array, tracks: number): boolean {
    this.#isWrapped = this.packet === MOD_EX || this.packet === tracks;
    const isRead = this.#readTrack(bytes, tracks);
    this.#payload = this.at;
    return isRead;
  }

  /** A body of the old format: nothing is around it. */
  protected readPlain(): void {
    this.#isWrapped = false;
  }

  #readTrack(bytes: Uint8Array, tracks: number): boolean {
    while (this.packet === MOD_EX) if (!this.#skipModEx(bytes)) return false;
    if (this.packet !== tracks) return this.#readCode(bytes);
    if (this.at >= this.end) return false;
    const shape = bytes[this.at] >> 4;
    this.packet = bytes[this.at] & 15;
    this.at += 1;
    if (shape > MANY_CODECS || this.packet === tracks) return false;
    if (shape !== MANY_CODECS && !this.#readCode(bytes)) return false;
    const { end } = this;
    while (this.at < end) {
      if (shape === MANY_CODECS && !this.#readCode(bytes)) return false;
      if (this.at >= end) return false;
      const track = bytes[this.at++];
      let next = end;
      if (shape !== ONE_TRACK) {
        if (this.at + 3 > end) return false;
        next = this.at + 3 + ((bytes[this.at] << 16) | (bytes[this.at + 1] << 8) | bytes[this.at + 2]);
        this.at += 3;
        if (next > end) return false;
      }
      if (track === 0) {
        this.end = next;
        return true;
      }
      this.at = next;
    }
    this.kind = OTHER_TRACK;
    return false;
  }

  /** One extension: its size, its data, then its type and the packet type (Enhanced RTMP v2, ModEx). */
  #skipModEx(bytes: Uint8Array): boolean {
    if (this.at >= this.end) return false;
    let size = bytes[this.at] + 1;
    this.at += 1;
    if (size === 256) {
      if (this.at + 2 > this.end) return false;
      size = bytes[this.at] * 256 + bytes[this.at + 1] + 1;
      this.at += 2;
    }
    this.at += size + 1;
    if (this.at > this.end) return false;
    this.packet = bytes[this.at - 1] & 15;
    return true;
  }

  #readCode(bytes: Uint8Array): boolean {
    const { at } = this;
    if (at + 4 > this.end) return false;
    this.codec = ((bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3]) >>> 0;
    this.at = at + 4;
    return true;
  }
}

export class VideoMessage extends FlvMessage {
  isKey = false;
  /** Composition time: presentation minus decoding, milliseconds, signed. */
  cts = 0;

  /** Reads the body in `bytes[start, end)`. */
  read(bytes: Uint8Array, start: number, end: number): void {
    this.kind = NOTHING;
    if (end - start < 2) return;
    const first = bytes[start];
    const frameType = (first >> 4) & 7;
    this.shape = first & 0xf0;
    this.isKey = frameType === KEY_FRAME;
    this.end = end;
    this.cts = 0;
    if (first & 0x80) {
      this.packet = first & 15;
      this.at = start + 1;
      // A command to the player has no FourCC.
      if (frameType === COMMAND && this.packet !== METADATA) return;
      if (!this.readEnhanced(bytes, VIDEO_TRACKS)) return;
      const isTimed = this.packet === CODED_FRAMES && (this.codec === VIDEO_AVC || this.codec === VIDEO_HEVC);
      if (isTimed) this.#readTime(bytes);
      else if (this.packet === CODED_FRAMES_X || this.packet === CODED_FRAMES) this.#takeFrame(bytes);
      else if (this.packet === SEQUENCE_START) this.kind = HEADER;
      return;
    }
    if (frameType === COMMAND) return;
    this.readPlain();
    const id = first & 15;
    // 12 is what many encoders took for H.265 before there was a FourCC; all else is as in H.264.
    this.codec = id === 7 ? VIDEO_AVC : id === 12 ? VIDEO_HEVC : id;
    if (id !== 7 && id !== 12) this.kind = FRAME;
    else if (end - start < 5) return;
    else {
      this.at = start + 2;
      const type = bytes[start + 1];
      if (type === CODED_FRAMES) this.#readTime(bytes);
      else if (type === SEQUENCE_START) {
        this.kind = HEADER;
        this.at = start + 5;
      }
    }
  }

  #takeFrame(bytes: Uint8Array): void {
    this.kind = FRAME;
    const { at, codec } = this;
    // A temporal delimiter does not belong into a sample (AV1 Codec ISO Media File Format Binding, 2.4).
    if (codec === VIDEO_AV1 && at + 2 <= this.end && bytes[at] === 0x12 && bytes[at + 1] === 0)
      this.at = at + 2;
  }

  #readTime(bytes: Uint8Array): void {
    const { at } = this;
    if (at + 3 > this.end) return;
    this.cts = ((bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8)) >> 8;
    this.at = at + 3;
    this.kind = FRAME;
  }
}

export class AudioMessage extends FlvMessage {
  /** Reads the body in `bytes[start, end)`. */
  read(bytes: Uint8Array, start: number, end: number): void {
    this.kind = NOTHING;
    if (end - start < 2) return;
    const format = bytes[start] >> 4;
    this.shape = bytes[start] & 0xf0;
    this.end = end;
    if (format !== ENHANCED) this.readPlain();
    if (format === ENHANCED) {
      this.packet = bytes[start] & 15;
      this.at = start + 1;
      if (!this.readEnhanced(bytes, AUDIO_TRACKS)) return;
    } else if (format === 10) {
      this.codec = AUDIO_AAC;
      this.packet = bytes[start + 1];
      this.at = start + 2;
    } else {
      this.codec = format;
      this.kind = FRAME;
      return;
    }
    if (this.packet === CODED_FRAMES) this.kind = FRAME;
    else if (this.packet === SEQUENCE_START) this.kind = HEADER;
  }
}

const KEY_FRAME = 1;
const COMMAND = 5;
/** VideoPacketType and AudioPacketType. */
const SEQUENCE_START = 0;
const CODED_FRAMES = 1;
const CODED_FRAMES_X = 3;
const METADATA = 4;
const AUDIO_TRACKS = 5;
const VIDEO_TRACKS = 6;
const MOD_EX = 7;
/** AvMultitrackType. */
const ONE_TRACK = 0;
const MANY_CODECS = 2;
/** SoundFormat. */
const ENHANCED = 9;

/** Four characters as the number that they are in a message (Enhanced RTMP v2, FOURCC). */
function code(text: string): number {
  let value = 0;
  for (const char of text) value = value * 256 + char.charCodeAt(0);
  return value;
}

/** Codecs that can be passed on. Any other is told by its FourCC, or by the number of the old format, 0..15. */
export const VIDEO_AVC = code('avc1');
export const VIDEO_HEVC = code('hvc1');
export const VIDEO_AV1 = code('av01');
export const AUDIO_AAC = code('mp4a');
export const AUDIO_OPUS = code('Opus');

/** FourCCs that encoders are told they may send. */
export const VIDEO_CODES = ['avc1', 'hvc1', 'av01'] as const;
export const AUDIO_CODES = ['mp4a', 'Opus'] as const;

/** Why a broadcast in a codec cannot be watched, in plain words. */
export function videoRefusal(codec: number): string {
  const name = codec < 16 ? (OLD_VIDEO[codec] ?? `${codec}`) : nameOf(codec);
  return `video codec ${name} is not supported; use H.264, or AV1 or H.265 by Enhanced RTMP`;
}

export function audioRefusal(codec: number): string {
  const name = codec < 16 ? (OLD_AUDIO[codec] ?? `${codec}`) : nameOf(codec);
  return `audio codec ${name} is not supported; use AAC, or Opus by Enhanced RTMP`;
}

/** Four bytes of the sender as text that may be shown to anyone. */
function nameOf(codec: number): string {
  const text = String.fromCharCode(codec >>> 24, (codec >>> 16) & 255, (codec >>> 8) & 255, codec & 255);
  return NAMES[text] ?? text.replace(/[^a-zA-Z0-9.-]/g, '?');
}

const NAMES: Readonly<Record<string, string>> = {
  vp08: 'VP8',
  vp09: 'VP9',
  vvc1: 'H.266',
  'ac-3': 'AC-3',
  'ec-3': 'E-AC-3',
  fLaC: 'FLAC',
  '.mp3': 'MP3',
};
/** Adobe FLV 10.1, E.4.3.1 and E.4.2.1. */
const OLD_VIDEO: Readonly<Record<number, string>> = {
  2: 'Sorenson H.263',
  3: 'Screen video',
  4: 'VP6',
  5: 'VP6 with alpha',
  6: 'Screen video 2',
};
const OLD_AUDIO: Readonly<Record<number, string>> = {
  0: 'PCM',
  1: 'ADPCM',
  2: 'MP3',
  3: 'PCM',
  4: 'Nellymoser',
  5: 'Nellymoser',
  6: 'Nellymoser',
  7: 'G.711 A-law',
  8: 'G.711 mu-law',
  11: 'Speex',
  14: 'MP3',
};
