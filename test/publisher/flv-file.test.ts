import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { clipOf, type FlvTag, readFlvFile, readFlvTags } from '../kit/publisher/flv-file.ts';

const CLIP = join(import.meta.dirname, '../../demo/clip.flv');

describe('the demo clip', () => {
  test('is what the tests count on', async () => {
    const clip = await readFlvFile(CLIP);
    const video = clip.tags.filter((tag) => tag.type === 'video');
    const audio = clip.tags.filter((tag) => tag.type === 'audio');
    expect(clip).toMatchObject({ duration: 24_000, frames: 720 });
    expect(video.length).toBe(720);
    expect(audio.length).toBe(1125);
    expect(video.flatMap((tag, n) => (tag.isKey ? [n] : []))).toEqual(
      Array.from({ length: 12 }, (_, n) => n * 60),
    );
    // Every picture has its own place, and some are sent before others that are shown earlier: B-frames.
    const frames = video.map((tag) => tag.frame);
    expect(frames.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 720 }, (_, n) => n));
    expect(frames).not.toEqual(frames.toSorted((a, b) => a - b));
    expect(clip.metadata && clip.videoHeader && clip.audioHeader).toBeTruthy();
  });

  test('is small enough to be committed', async () => {
    const bytes = (await readFlvFile(CLIP, { limit: 1_300_000 })).tags.reduce(
      (sum, tag) => sum + tag.body.length,
      0,
    );
    expect(bytes).toBeGreaterThan(800_000);
  });
});

describe('reading FLV', () => {
  test('takes timestamps of 32 bits', () => {
    expect(readFlvTags(flv([tag('audio', 0x89abcdef, [0xaf, 1, 7])]))[0]?.timestamp).toBe(0x89abcdef);
  });

  test('leaves out a last tag that is cut short', () => {
    const whole = flv([tag('audio', 0, [0xaf, 1, 7]), tag('audio', 21, [0xaf, 1, 8])]);
    expect(readFlvTags(whole.subarray(0, whole.length - 5)).length).toBe(1);
  });

  test('refuses what is no FLV, too large, or without media', async () => {
    expect(() => readFlvTags(new TextEncoder().encode('#EXTM3U\n#EXT-X-VERSION:9\n'))).toThrow(
      'not an FLV file',
    );
    expect(() => clipOf([])).toThrow('no media');
    await expect(readFlvFile(CLIP, { limit: 1000 })).rejects.toThrow('more than the limit');
  });

  test('counts from the first media tag and drops headers and end markers', () => {
    const clip = clipOf([
      tag('video', 1000, [0x17, 0, 0, 0, 0, 1]),
      tag('video', 1000, [0x17, 1, 0, 0, 67, 1]),
      tag('video', 1033, [0x27, 1, 0, 0, 100, 1]),
      tag('video', 1067, [0x27, 1, 0, 0, 33, 1]),
      tag('video', 1100, [0x27, 1, 0, 0, 67, 1]),
      tag('video', 1100, [0x17, 2, 0, 0, 0]),
    ]);
    expect(clip.tags.map((one) => one.timestamp)).toEqual([0, 33, 67, 100]);
    expect(clip.tags.map((one) => one.frame)).toEqual([0, 2, 1, 3]);
    expect(clip.duration).toBe(133);
  });
});

function tag(type: 'audio' | 'video', timestamp: number, body: number[]): FlvTag {
  return { type, timestamp, body: Uint8Array.from(body) };
}

function flv(tags: readonly FlvTag[]): Uint8Array {
  const bytes = [0x46, 0x4c, 0x56, 1, 5, 0, 0, 0, 9, 0, 0, 0, 0];
  for (const { type, timestamp, body } of tags) {
    bytes.push(type === 'audio' ? 8 : 9, 0, 0, body.length);
    bytes.push((timestamp >>> 16) & 255, (timestamp >>> 8) & 255, timestamp & 255, timestamp >>> 24, 0, 0, 0);
    bytes.push(...body, 0, 0, 0, body.length + 11);
  }
  return Uint8Array.from(bytes);
}
