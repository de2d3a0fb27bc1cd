import { createHash } from 'node:crypto';
import type { Blobs } from '../../core/ports/blobs.ts';
import type { AssetFile } from '../../plugins/assets/contract.ts';
import { openGrowingFile } from '../../runtime/media/recording/file/growing-file.ts';
import { Feed, send } from '../hls/feed.ts';
import { type ClipTag, readFlvFile } from '../kit/publisher/flv-file.ts';
import { atOnce } from '../recording/at-once.ts';
import { MemoryIo } from '../recording/memory-io.ts';

/** A stretch of the demo clip as one publish; seconds, beginning at a key frame (every 2 s). */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** What was recorded, as blobs, and what must be in it. */
export interface Recorded {
  readonly file: AssetFile;
  readonly video: Buffer;
  readonly head: Buffer;
  /** Pictures, and packets of sound. */
  readonly pictures: number;
  readonly sounds: number;
}

/**
 * The demo clip, published stretch by stretch with pauses between, through our packager into the file of a take. Its
 * pictures carry their number in the clip.
 */
export async function recordClip(
  blobs: Pick<Blobs, 'put'>,
  options: { folder: string; stretches: readonly Stretch[] },
): Promise<Recorded> {
  const clip = await readFlvFile('demo/clip.flv');
  const io = new MemoryIo();
  const take = atOnce(openGrowingFile(io));
  const feed = new Feed();
  const fed = {
    begin: take.begin.bind(take),
    part: (...part: Parameters<typeof take.part>) => {
      take.part(...part);
      return true;
    },
    end: () => take.pause(),
    issues: [],
    written: { inits: [], count: 0, segment: take.segment.bind(take), read: async () => undefined },
  };
  let pictures = 0;
  let sounds = 0;
  for (const { from, to } of options.stretches) {
    const publisher = feed.attach({}, { open: () => fed, onTrouble: rethrow });
    const tags = clip.tags.filter(({ timestamp }) => timestamp >= from * 1000 && timestamp < to * 1000);
    if (clip.videoHeader) send(publisher.sink, 9, 0, clip.videoHeader);
    if (clip.audioHeader) send(publisher.sink, 8, 0, clip.audioHeader);
    let last = from * 1000;
    for (const { type, timestamp, body } of tags) {
      feed.clock.advance(timestamp - last);
      last = timestamp;
      send(publisher.sink, type === 'video' ? 9 : 8, timestamp, body);
    }
    feed.output.detach(publisher.grant.token);
    feed.clock.advance(20_000);
    pictures += count(tags, 'video');
    sounds += count(tags, 'audio');
  }
  const finished = atOnce(take.finish());
  if (!finished) throw new Error('nothing was recorded');
  const video = Buffer.from(io.bytes);
  const head = Buffer.from(finished.head.bytes);
  const key = (name: string) => `${options.folder}/${name}`;
  await blobs.put(key('video.mp4'), video);
  await blobs.put(key('head.mp4'), head);
  await blobs.put(key('index.bin'), finished.index);
  const hash = (name: string) => createHash(name).update(video).digest('hex');
  return {
    ...{ video, head, pictures, sounds },
    file: {
      video: { key: key('video.mp4'), size: video.length, md5: hash('md5'), sha256: hash('sha256') },
      head: { key: key('head.mp4'), size: head.length, from: finished.head.from, to: finished.head.to },
      index: { key: key('index.bin'), size: finished.index.length },
      spec: finished.spec,
    },
  };
}

function count(tags: readonly ClipTag[], type: 'video' | 'audio'): number {
  return tags.filter((tag) => tag.type === type).length;
}

function rethrow(error: unknown): never {
  throw error;
}
