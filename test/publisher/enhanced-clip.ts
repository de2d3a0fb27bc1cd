import { boxes, bytesOf } from '../hls/box.ts';
import { find } from '../hls/boxes.ts';
import type { Clip, ClipTag } from '../kit/publisher/flv-file.ts';

/**
 * What an encoder of Enhanced RTMP would send of an MP4 file with one video track, one audio track or both:
 * H.264, H.265 or AV1, AAC or Opus. For senders that cannot do it themselves, as ffmpeg before 6.1.
 */
export function enhancedClip(file: Uint8Array): Clip {
  const clip: Clip = { tags: [], duration: 0, frames: 0 };
  for (const trak of find(file, 'moov/trak')) {
    const track = readTrack(file, bytesOf(trak));
    clip.duration = Math.max(clip.duration, track.duration);
    const { header, tags } = track.isVideo ? video(track) : audio(track);
    if (track.isVideo) {
      clip.videoHeader = header;
      clip.frames = tags.length;
    } else clip.audioHeader = header;
    clip.tags.push(...tags);
  }
  clip.tags.sort((a, b) => a.timestamp - b.timestamp);
  return clip;
}

interface Track {
  readonly isVideo: boolean;
  /** Sample description, with all boxes in it. */
  readonly stsd: Uint8Array;
  readonly samples: readonly Sample[];
  /** Milliseconds. */
  readonly duration: number;
}
interface Sample {
  readonly data: Uint8Array;
  /** Milliseconds. */
  readonly dts: number;
  readonly cts: number;
  readonly isKey: boolean;
}

function video({ stsd, samples }: Track): { header: Uint8Array; tags: ClipTag[] } {
  const [code, box] = [
    ['avc1', 'avcC'],
    ['hvc1', 'hvcC'],
    ['av01', 'av1C'],
  ].find(([, name]) => has(stsd, name)) as [string, string];
  const hasTime = code !== 'av01';
  const tags = samples.map(({ data, dts, cts, isKey }, frame): ClipTag => {
    // CodedFramesX when there is no composition time to tell.
    const isX = hasTime && cts === 0;
    const head = [(isKey ? 0x90 : 0xa0) | (isX ? 3 : 1), ...ascii(code)];
    const time = hasTime && !isX ? [(cts >> 16) & 255, (cts >> 8) & 255, cts & 255] : [];
    return {
      type: 'video',
      timestamp: dts,
      body: Uint8Array.from([...head, ...time, ...data]),
      isKey,
      frame,
    };
  });
  return { header: Uint8Array.from([0x90, ...ascii(code), ...payload(stsd, box)]), tags };
}

function audio({ stsd, samples }: Track): { header: Uint8Array; tags: ClipTag[] } {
  const isOpus = has(stsd, 'dOps');
  const code = ascii(isOpus ? 'Opus' : 'mp4a');
  const config = isOpus ? opusHead(payload(stsd, 'dOps')) : audioSpecificConfig(payload(stsd, 'esds'));
  const tags = samples.map(({ data, dts }): ClipTag => {
    const body = Uint8Array.from([0x91, ...code, ...data]);
    return { type: 'audio', timestamp: dts, body, isKey: false, frame: -1 };
  });
  return { header: Uint8Array.from([0x90, ...code, ...config]), tags };
}

/** RFC 7845 5.1 from dOps: little-endian. */
function opusHead(box: Uint8Array): number[] {
  const [, channels, skipHigh, skipLow, a, b, c, d, gainHigh, gainLow, ...mapping] = box;
  return [...ascii('OpusHead'), 1, channels, skipLow, skipHigh, d, c, b, a, gainLow, gainHigh, ...mapping];
}

/** The payload of the descriptor with tag 5; ffmpeg writes every length in four bytes. */
function audioSpecificConfig(esds: Uint8Array): Uint8Array {
  for (let at = 4; at + 5 < esds.length; at += 1)
    if (esds[at] === 5 && esds[at + 1] === 0x80 && esds[at + 3] === 0x80)
      return esds.subarray(at + 5, at + 5 + esds[at + 4]);
  throw new Error('the esds has no AudioSpecificConfig');
}

function readTrack(file: Uint8Array, trak: Uint8Array): Track {
  const table = (name: string) => find(trak, `mdia/minf/stbl/${name}`)[0]?.body;
  const timescale = find(trak, 'mdia/mdhd')[0].body.getUint32(12);
  const [durations, sizes, offsets] = [runs(table('stts')), table('stsz'), table('stco')];
  const compositions = runs(table('ctts'));
  const keys = table('stss');
  const keyNumbers = new Set(
    keys && Array.from({ length: keys.getUint32(4) }, (_, i) => keys.getUint32(8 + 4 * i)),
  );
  const chunks = table('stsc');
  const perChunk: number[] = [];
  const entries = chunks.getUint32(4);
  for (let i = 0; i < entries; i += 1) {
    const next = i + 1 < entries ? chunks.getUint32(20 + 12 * i) : offsets.getUint32(4) + 1;
    for (let chunk = chunks.getUint32(8 + 12 * i); chunk < next; chunk += 1)
      perChunk.push(chunks.getUint32(12 + 12 * i));
  }
  const samples: Sample[] = [];
  const ms = (ticks: number) => Math.round((ticks * 1000) / timescale);
  let time = 0;
  for (const [chunk, count] of perChunk.entries()) {
    let at = offsets.getUint32(8 + 4 * chunk);
    for (let i = 0; i < count; i += 1) {
      const number = samples.length;
      const size = sizes.getUint32(4) || sizes.getUint32(12 + 4 * number);
      const data = file.subarray(at, at + size);
      const isKey = keys === undefined || keyNumbers.has(number + 1);
      samples.push({ data, dts: ms(time), cts: ms(compositions[number] ?? 0), isKey });
      time += durations[number];
      at += size;
    }
  }
  const [stsd] = find(trak, 'mdia/minf/stbl/stsd');
  const isVideo = String.fromCharCode(...bytesOf(find(trak, 'mdia/hdlr')[0]).subarray(8, 12)) === 'vide';
  return { isVideo, stsd: bytesOf(stsd), samples, duration: ms(time) };
}

/** One value per sample from a table of runs, stts or ctts. */
function runs(table: DataView | undefined): number[] {
  if (table === undefined) return [];
  return Array.from({ length: table.getUint32(4) }, (_, i) => [
    table.getUint32(8 + 8 * i),
    table.getInt32(12 + 8 * i),
  ]).flatMap(([count, value]) => Array(count).fill(value));
}

const has = (bytes: Uint8Array, name: string) => Buffer.from(bytes).includes(name);

function payload(bytes: Uint8Array, name: string): Uint8Array {
  const at = Buffer.from(bytes).indexOf(name) - 4;
  return bytesOf(
    boxes(bytes.subarray(at, at + new DataView(bytes.buffer, bytes.byteOffset + at).getUint32(0)))[0],
  );
}

const ascii = (text: string) => [...text].map((char) => char.charCodeAt(0));
