import { expect, it } from 'vitest';
import { readFragments } from './boxes.ts';
import { parsePlaylist } from './checker.ts';
import { Feed, play, sendHeaders } from './feed.ts';
import { Viewer } from './viewer.ts';

/**
 * Seen with hls.js 1.7.4: with B-frames the pictures of a part end later than its decode times (by the
 * composition offset, 67 ms here). When its sound is cut at the decode times it ends that much earlier, the
 * buffered range ends before the part does, and hls.js, once it goes from whole segments to parts, never
 * loads the next one: the picture stands still about 1.9 s after the start. So the sound of each part must
 * reach the end of its pictures (one sound frame may be missing); the cut has to wait for that sound, for a
 * bounded time, because encoders interleave by decode time.
 */
it('the sound of each part reaches the end of its pictures', async () => {
  const feed = new Feed();
  const publisher = feed.attach();
  sendHeaders(publisher.sink);
  // I P B B …: decode order with a reorder delay of two frames.
  const cts = (index: number) => [67, 133, 33, 33][index % 4];
  await play(feed, publisher.sink, { seconds: 9, cts });
  const playlist = parsePlaylist(await feed.text('source.m3u8'));
  const uris = [...playlist.segments.flatMap(({ parts }) => parts), ...playlist.open.parts].map(
    ({ uri }) => uri,
  );
  expect(uris.length).toBeGreaterThan(15);
  for (const uri of uris) {
    for (const { runs } of readFragments(await feed.bytes(uri))) {
      const [video, audio] = [runs[0], runs[1]];
      // Where the pictures of the part end when all before it are there: its decode times plus the delay.
      const pictureEnd = video.end / 90_000 + 0.067;
      const soundEnd = audio.end / 48_000;
      expect(soundEnd).toBeGreaterThanOrEqual(pictureEnd - 1024 / 48_000 - 0.001);
    }
  }
});

it('the last line of a playlist never names a file, also while nobody publishes', async () => {
  const feed = new Feed();
  const publisher = feed.attach();
  sendHeaders(publisher.sink);
  await play(feed, publisher.sink, { seconds: 5 });
  const lastLine = async () => (await feed.text('source.m3u8')).trimEnd().split('\n').at(-1);
  expect(await lastLine()).toMatch(/^#/);
  feed.output.detach(publisher.grant.token);
  expect(await lastLine()).toMatch(/^#/);
});

it('the last part of a publish is no longer than others, though its sound was still waited for', async () => {
  for (let frames = 150; frames < 175; frames += 1) {
    const feed = new Feed();
    const publisher = feed.attach();
    sendHeaders(publisher.sink);
    const viewer = new Viewer(feed);
    const cts = (index: number) => [67, 133, 33, 33][index % 4];
    await play(feed, publisher.sink, { seconds: frames / 30, cts, after: () => viewer.look() });
    feed.output.detach(publisher.grant.token);
    await viewer.look();
    expect(viewer.checker.last?.partTarget).toBe(0.35);
    expect(viewer.samples(1)).toHaveLength(frames);
  }
});
