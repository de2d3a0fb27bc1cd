import type { TrackSpec, VideoSpec } from '../../../../core/ports/recorder.ts';
import { parseAac } from '../../codecs/aac.ts';
import { parseAvc } from '../../codecs/avc.ts';
import { boxInEntry } from '../../mp4/read-init.ts';
import { lengthOf, pictureSize } from './moov.ts';
import type { TrackTable } from './track-table.ts';

/** Describes a film by its samples; of several configurations of a track, the one that lasts longest. */
export function videoSpec(tracks: readonly TrackTable[], options: { size: number }): VideoSpec {
  const duration = Math.max(...tracks.map((track) => lengthOf(track)));
  return {
    format: 'mp4',
    duration: round(duration),
    bitrate: Math.round((options.size * 8) / duration),
    tracks: tracks.map((track) => trackSpec(track)),
  };
}

/** The names that ffprobe has. */
const NAMES: Readonly<Record<string, string>> = {
  avc1: 'h264',
  hvc1: 'hevc',
  av01: 'av1',
  mp4a: 'aac',
  Opus: 'opus',
};

function trackSpec(track: TrackTable): TrackSpec {
  const codec = NAMES[track.format] ?? track.format;
  const media = track.lasting / track.timescale;
  const shared = {
    codec,
    duration: round(lengthOf(track)),
    bitrate: media > 0 ? Math.round((track.bytes * 8) / media) : 0,
  };
  const [{ bytes: entry }] = [...track.entries].sort((a, b) => b.samples - a.samples);
  if (!track.isVideo) return { type: 'audio', ...shared, ...sound(entry, track.format) };
  const { width, height } = pictureSize(entry);
  const fps = media > 0 ? { fps: round(track.count / media) } : {};
  const format = pixelFormat(entry);
  return { type: 'video', ...shared, ...fps, width, height, ...(format && { pixelFormat: format }) };
}

/** AudioSampleEntry, ISO/IEC 14496-12 12.2.3; a rate of 65,536 Hz and more is only in the codec's own configuration. */
function sound(entry: Uint8Array, format: string): { channels: number; sampleRate?: number } {
  const view = new DataView(entry.buffer, entry.byteOffset, entry.length);
  const channels = view.getUint16(24);
  const rate = view.getUint16(32);
  if (rate > 0) return { channels, sampleRate: rate };
  const esds = boxInEntry({ entry, isVideo: false }, ['esds'])?.payload;
  // Where `mp4/init.ts` puts the AudioSpecificConfig.
  const config = format === 'mp4a' && esds !== undefined ? parseAac(esds.subarray(ES_CONFIG)) : undefined;
  return config && 'sampleRate' in config ? { channels, sampleRate: config.sampleRate } : { channels };
}

/** Version, then three descriptors' heads and fields. */
const ES_CONFIG = 0x23;

/** Thousandths: ticks are no more precise. */
function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/** ffmpeg's name of the pixels that this sample entry is decoded to, such as `yuv420p10le`; undefined: unknown. */
function pixelFormat(entry: Uint8Array): string | undefined {
  const found = boxInEntry({ entry, isVideo: true }, ['avcC', 'hvcC', 'av1C']);
  if (found === undefined) return undefined;
  const { type, payload } = found;
  if (type === 'avcC') {
    const avc = parseAvc(payload);
    return 'malformed' in avc ? undefined : avc.pixelFormat;
  }
  const shape = type === 'hvcC' ? readHevc(payload) : readAv1(payload);
  const { chroma, depth } = shape;
  const layout = ['gray', 'yuv420p', 'yuv422p', 'yuv444p'][chroma];
  if (layout === undefined || ![8, 10, 12].includes(depth)) return undefined;
  return depth === 8 ? layout : `${layout}${depth}le`;
}

interface Shape {
  /** chroma_format_idc: none, 4:2:0, 4:2:2, 4:4:4. */
  readonly chroma: number;
  /** Bits. */
  readonly depth: number;
}

/** ISO/IEC 14496-15 8.3.3.1.2. */
function readHevc(record: Uint8Array): Shape {
  return { chroma: record[16] & 3, depth: (record[17] & 7) + 8 };
}

/** AV1 in ISOBMFF 2.3.3. */
function readAv1(record: Uint8Array): Shape {
  const flags = record[2];
  const depth = flags & 0x40 ? (flags & 0x20 ? 12 : 10) : 8;
  if (flags & 0x10) return { chroma: 0, depth };
  return { chroma: flags & 0x08 ? (flags & 0x04 ? 1 : 2) : 3, depth };
}
