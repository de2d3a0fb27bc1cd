import type { TrackSpec, VideoSpec } from '../../../../core/ports/recorder.ts';
import { parseAac } from '../../codecs/aac.ts';
import { lengthOf, pictureSize } from './moov.ts';
import { pixelFormat } from './pixel-format.ts';
import { children } from './read-init.ts';
import type { TrackTable } from './track-table.ts';

/** What a film is, measured from its samples; of several configurations of a track, the one that lasts longest. */
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
  const esds = children(entry, 36)?.find(({ type }) => type === 'esds')?.bytes;
  // Where `mp4/init.ts` puts the AudioSpecificConfig.
  const config = format === 'mp4a' && esds !== undefined ? parseAac(esds.subarray(ES_CONFIG)) : undefined;
  return config && 'sampleRate' in config ? { channels, sampleRate: config.sampleRate } : { channels };
}

/** Box and version, then three descriptors' heads and fields. */
const ES_CONFIG = 0x2b;

/** Thousandths: what is measured in ticks says no more. */
function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
