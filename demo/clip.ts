import { readFile } from 'node:fs/promises';

/** A tag of an FLV file (Adobe FLV 10.1, annex E). */
export interface Tag {
  /** As in RTMP: 8 audio, 9 video, 18 script. */
  readonly type: number;
  /** ms */
  readonly timestamp: number;
  readonly body: Uint8Array;
}

export interface Clip {
  /** The metadata and the headers of the codecs. */
  readonly headers: readonly Tag[];
  /** In the order of time, from 0 on. */
  readonly media: readonly Tag[];
  /** ms to the end of the longer track. The same for both in every loop, so that they never drift apart. */
  readonly duration: number;
}

/** Reads an FLV file of H.264 and AAC. */
export async function readClip(path: string): Promise<Clip> {
  const tags = tagsOf(await readFile(path));
  const first = tags.find(isMedia)?.timestamp ?? 0;
  const media = tags.filter(isMedia).map((tag) => ({ ...tag, timestamp: tag.timestamp - first }));
  // Stable: tags of one time keep their order.
  media.sort((a, b) => a.timestamp - b.timestamp);
  const lengths = [8, 9].map((type) => lengthOf(media.filter((tag) => tag.type === type)));
  return { headers: tags.filter(isHeader), media, duration: Math.max(...lengths) };
}

function tagsOf(file: Buffer): Tag[] {
  const tags: Tag[] = [];
  let at = file.readUInt32BE(5) + 4;
  while (at + 11 <= file.length) {
    const end = at + 11 + file.readUIntBE(at + 1, 3);
    const timestamp = file.readUIntBE(at + 4, 3) + file[at + 7] * 2 ** 24;
    tags.push({ type: file[at] & 0x1f, timestamp, body: file.subarray(at + 11, end) });
    at = end + 4;
  }
  return tags;
}

/** The second byte says what H.264 and AAC have: 0 is the header, 1 is media, 2 is the end of H.264. */
function isMedia({ type, body }: Tag): boolean {
  return type !== 18 && body[1] === 1;
}

function isHeader({ type, body }: Tag): boolean {
  return type === 18 || body[1] === 0;
}

/** To the end of the last tag, which lasts as long as the others on average. */
function lengthOf(track: readonly Tag[]): number {
  const last = track.at(-1)?.timestamp ?? 0;
  return Math.round(last + last / Math.max(1, track.length - 1));
}
