import { readFlvFile } from '../../kit/publisher/flv-file.ts';
import { loopOf } from '../../kit/publisher/loop.ts';
import { publish } from '../../kit/publisher/publisher.ts';

/**
 * Publishes a clip over and over, with timestamps that go on, faster than real time: `speed` times as fast, and never faster
 * than the server takes it. It leaves nothing out. Resolves when all was sent and said goodbye; seconds that it took.
 *
 * @param options `seconds` of media
 */
export async function replay(options: {
  url: string;
  clip: string;
  seconds: number;
  speed: number;
  onProgress?: (seconds: number) => void;
}): Promise<number> {
  const { url, seconds, speed, onProgress } = options;
  const clip = await readFlvFile(options.clip);
  const publisher = await publish({ url });
  let problem: string | undefined;
  void publisher.closed.then(({ cause, message }) => {
    problem = `${cause}: ${message}`;
  });
  if (clip.metadata) publisher.sendMetadata(clip.metadata);
  if (clip.videoHeader) publisher.sendVideo(clip.videoHeader, 0);
  if (clip.audioHeader) publisher.sendAudio(clip.audioHeader, 0);
  const cursor = loopOf(clip);
  const end = seconds * 1000;
  const began = performance.now();
  let before = began;
  while (cursor.position < end) {
    if (problem !== undefined)
      throw new Error(`the publish ended after ${cursor.position / 1000} s: ${problem}`);
    const now = performance.now();
    // What was missed while this process or the server had no core is not caught up with: the speed has a bound.
    const due = Math.min(end, cursor.position + Math.min(now - before, step) * speed);
    before = now;
    while (cursor.position < due && publisher.buffered < backlog) {
      const { tag, position } = cursor;
      const isTaken =
        tag.type === 'video'
          ? publisher.sendVideo(tag.body, position)
          : publisher.sendAudio(tag.body, position);
      if (!isTaken) break;
      cursor.advance();
    }
    onProgress?.(cursor.position / 1000);
    await Bun.sleep(5);
  }
  const took = (performance.now() - began) / 1000;
  await publisher.close({ clean: true });
  return took;
}

/** Bytes that wait for the server; further ones wait for their turn. */
const backlog = 1 << 20;
/** Longest time, ms, of which the media is sent in one go. */
const step = 20;
