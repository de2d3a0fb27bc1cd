import { readFile, stat } from 'node:fs/promises';

/**
 * Reads an FLV file (Adobe FLV 10.1, annex E) whole into memory as a clip that can be broadcast in a loop.
 * Timestamps count from the file's first media tag. Throws when the file is no FLV, is damaged, or is
 * larger than `limit` bytes (default 256 MB).
 */
export async function readFlvFile(path: string, options: { limit?: number } = {}): Promise<Clip> {
  const limit = options.limit ?? 256 * 1024 * 1024;
  const { size } = await stat(path);
  if (size > limit) throw new Error(`${path} holds ${size} bytes, more than the limit of ${limit}`);
  return clipOf(readFlvTags(await readFile(path)));
}

export interface FlvTag {
  type: 'audio' | 'video' | 'script';
  /** Milliseconds; for video the decoding time. */
  timestamp: number;
  /** What an RTMP message of this type carries. */
  body: Uint8Array;
}

export interface ClipTag extends FlvTag {
  type: 'audio' | 'video';
  isKey: boolean;
  /** Place of the picture in presentation order, from 0; -1 for audio. */
  frame: number;
}

export interface Clip {
  /** Media in decoding order, without headers and end markers. All share their bytes with the file. */
  tags: ClipTag[];
  /** Length of one loop in whole milliseconds, so that no rounding adds up over loops. */
  duration: number;
  /** Pictures in one loop. */
  frames: number;
  /** The `onMetaData` script tag, the AVC and the AAC sequence header, where there are any. */
  metadata?: Uint8Array;
  videoHeader?: Uint8Array;
  audioHeader?: Uint8Array;
}

/** All tags of an FLV file in their order. An incomplete last tag is left out, as a cut recording has one. */
export function readFlvTags(file: Uint8Array): FlvTag[] {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  if (file.length < 13 || file[0] !== 0x46 || file[1] !== 0x4c || file[2] !== 0x56) {
    throw new Error('not an FLV file: the signature is missing');
  }
  const tags: FlvTag[] = [];
  let at = view.getUint32(5) + 4;
  while (at + 11 <= file.length) {
    const size = view.getUint32(at) & 0xffffff;
    const type = TAG_TYPES[file[at] & 0x1f];
    if (!type) throw new Error(`damaged FLV file: no tag at byte ${at}`);
    const timestamp = ((file[at + 7] << 24) | (view.getUint32(at + 4) >>> 8)) >>> 0;
    const end = at + 11 + size;
    if (end > file.length) break;
    tags.push({ type, timestamp, body: file.subarray(at + 11, end) });
    at = end + 4;
  }
  return tags;
}

/** Sorts headers from media and measures one loop. */
export function clipOf(flv: readonly FlvTag[]): Clip {
  const clip: Clip = { tags: [], duration: 0, frames: 0 };
  for (const tag of flv) {
    const [first = 0, second = 0] = tag.body;
    if (tag.type === 'script') clip.metadata ??= tag.body;
    else if (tag.type === 'video') {
      if (tag.body.length < 5) continue;
      const isAvc = (first & 0x0f) === 7;
      if (isAvc && second === 0) clip.videoHeader ??= tag.body;
      else if (!isAvc || second === 1)
        clip.tags.push({ ...tag, type: 'video', isKey: first >> 4 === 1, frame: 0 });
    } else if (tag.body.length > 1) {
      const isAac = first >> 4 === 10;
      if (isAac && second === 0) clip.audioHeader ??= tag.body;
      else clip.tags.push({ ...tag, type: 'audio', isKey: false, frame: -1 });
    }
  }
  // Stable: tags of one time keep the order that the file gave them.
  clip.tags.sort((a, b) => a.timestamp - b.timestamp);
  const start = clip.tags[0]?.timestamp;
  if (start === undefined) throw new Error('the FLV file holds no media');
  for (const tag of clip.tags) tag.timestamp -= start;

  const video = clip.tags.filter((tag) => tag.type === 'video');
  const audio = clip.tags.filter((tag) => tag.type === 'audio');
  const shown = video.toSorted((a, b) => presentation(a) - presentation(b));
  for (const [frame, tag] of shown.entries()) tag.frame = frame;
  clip.frames = video.length;
  // One length for both tracks: whichever is shorter waits at the seam, so they never drift apart.
  clip.duration = Math.max(lengthOf(video), lengthOf(audio));
  return clip;
}

const TAG_TYPES: Record<number, FlvTag['type']> = { 8: 'audio', 9: 'video', 18: 'script' };

/** Presentation time of a video tag: decoding time and the signed 24-bit composition offset of AVC. */
function presentation(tag: FlvTag): number {
  const [first = 0, , a = 0, b = 0, c = 0] = tag.body;
  const offset = (first & 0x0f) === 7 ? (((a << 16) | (b << 8) | c) << 8) >> 8 : 0;
  return tag.timestamp + offset;
}

/** To the end of the last tag, which lasts as long as the others do on average. */
function lengthOf(track: readonly FlvTag[]): number {
  if (track.length === 0) return 0;
  const first = track[0].timestamp;
  const last = track.at(-1)!.timestamp;
  return Math.round(last + (last - first) / Math.max(1, track.length - 1));
}
