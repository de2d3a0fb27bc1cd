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
