import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { clipOf, type FlvTag, readFlvFile } from '../kit/publisher/flv-file.ts';
import { loopOf } from '../kit/publisher/loop.ts';

const CLIP = join(import.meta.dirname, '../../demo/clip.flv');

describe('a looped clip', () => {
  test('over 1,000 loops its clocks only rise, and audio and video stay together', async () => {
    const clip = await readFlvFile(CLIP);
    const cursor = loopOf(clip);
    const last = { audio: -1, video: -1 };
    const steps = { audio: new Set<number>(), video: new Set<number>() };
    let previous = 0;
    let frames = 0;
    let sounds = 0;
    let worst = 0;
    while (cursor.loops < 1000) {
      const { position, tag } = cursor;
      if (position < previous) throw new Error(`back from ${previous} to ${position}`);
      previous = position;
      if (last[tag.type] >= 0) steps[tag.type].add(position - last[tag.type]);
      last[tag.type] = position;
      const exact = tag.type === 'video' ? (frames++ * 1000) / 30 : (sounds++ * 1024 * 1000) / 48_000;
      worst = Math.max(worst, Math.abs(position - exact));
      cursor.advance();
    }
    expect([...steps.video].sort()).toEqual([33, 34]);
    expect([...steps.audio].sort()).toEqual([21, 22]);
    expect(frames).toBe(720_000);
    // Nothing but the rounding of one timestamp, after almost seven hours.
    expect(worst).toBeLessThan(0.6);
  });

  test('a file whose tracks differ in length gets one length for both', () => {
    const body = (...bytes: number[]) => Uint8Array.from(bytes);
    const flv: FlvTag[] = [
      ...[0, 40, 80].map(
        (timestamp): FlvTag => ({ type: 'video', timestamp, body: body(0x17, 1, 0, 0, 0, 9) }),
      ),
      ...[0, 23, 46].map((timestamp): FlvTag => ({ type: 'audio', timestamp, body: body(0xaf, 1, 9) })),
    ];
    const clip = clipOf(flv);
    const cursor = loopOf(clip);
    const seen: string[] = [];
    while (cursor.loops < 2) {
      seen.push(`${cursor.tag.type[0]}${cursor.position}`);
      cursor.advance();
    }
    expect(clip.duration).toBe(120);
    expect(seen.join(' ')).toBe('v0 a0 a23 v40 a46 v80 v120 a120 a143 v160 a166 v200');
  });

  test('begins at a key frame and finds the next one', async () => {
    const cursor = loopOf(await readFlvFile(CLIP), { startAt: 3001 });
    expect([cursor.position, cursor.frame, cursor.tag.isKey]).toEqual([4000, 120, true]);
    cursor.advance();
    cursor.seekKey();
    expect([cursor.position, cursor.frame]).toEqual([6000, 180]);
    while (cursor.position < 23_000) cursor.advance();
    cursor.seekKey();
    expect([cursor.position, cursor.frame, cursor.loops]).toEqual([24_000, 720, 1]);
  });
});
