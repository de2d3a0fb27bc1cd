import { expect } from 'vitest';
import { Feed, play, sendHeaders } from './feed.ts';
import { Viewer } from './viewer.ts';

/** s */
export const partTargets = [0.2, 0.25, 0.35, 0.5];

/** Parts of pictures at this rate, in the order in which they are shown and in another, are as long as they may be at most. */
export async function keepToTheLetter(partTarget: number, fps: number): Promise<void> {
  for (const isReordered of [false, true]) {
    const feed = new Feed({ partTarget });
    const viewer = new Viewer(feed);
    const publisher = feed.attach();
    sendHeaders(publisher.sink);
    const cts = isReordered ? (i: number) => Math.round([2, 4, 1, 1][i % 4] * (1000 / fps)) : undefined;
    const after = () => viewer.look();
    await play(feed, publisher.sink, { seconds: 9, fps, gop: Math.round(fps * 0.9), cts, after });
    feed.output.detach('t1');
    await viewer.look();
    // Whole frames: 85 % may need one more than fits.
    const longest = viewer.segments.flatMap(({ parts }) => parts).map(({ duration }) => duration);
    expect(Math.max(...longest)).toBeLessThanOrEqual(partTarget + 0.02);
  }
}
