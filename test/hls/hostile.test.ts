import { expect, test } from 'vitest';
import { issues } from '../../runtime/media/live/issues.ts';
import { MemoryBudget } from '../../runtime/media/publish/memory-budget.ts';
import { Arena } from '../../runtime/media/publish/sink.ts';
import { parsePlaylist } from './checker.ts';
import {
  AAC_44100_MONO,
  AVC_360P,
  audioHeader,
  Feed,
  frame,
  play,
  send,
  sendHeaders,
  sound,
  videoHeader,
} from './feed.ts';

test('an arena that the budget does not let double is not copied for every chunk', () => {
  const budget = new MemoryBudget({ limit: 24 * 64 * 1024 });
  const memory = budget.open().hold();
  const arena = new Arena({ initial: 64 * 1024, limit: 2 ** 25, memory });
  let moves = 0;
  for (let { bytes } = arena; arena.reserve(1024); arena.length += 1024) {
    if (arena.bytes === bytes) continue;
    moves += 1;
    bytes = arena.bytes;
  }
  expect(moves).toBeLessThan(16);
  // Nearly all there is can be had all the same.
  expect(arena.length).toBeGreaterThan(0.8 * budget.held);
  expect(budget.held).toBeGreaterThan(0.75 * 24 * 64 * 1024);
});

test('a sequence header of more than 64 KiB is refused: each would be held by its init segment', async () => {
  const feed = new Feed();
  const { sink } = feed.attach();
  const padded = (size: number) => videoHeader(Uint8Array.from({ length: size }, (_, i) => AVC_360P[i] ?? 0));
  send(sink, 9, 0, padded(64 * 1024 + 1));
  expect(sink.figures().issues).toEqual([issues.badVideoHeader('it has 65537 bytes, more than 65536')]);
  send(sink, 8, 0, audioHeader(new Uint8Array(64 * 1024 + 1).fill(0x11)));
  expect(sink.figures().issues).toContain(issues.badAudioHeader('it has 65537 bytes, more than 65536'));
  send(sink, 9, 0, padded(64 * 1024));
  await play(feed, sink, { seconds: 3, audio: false });
  expect(feed.output.isPlayable).toBe(true);
});

test('a new issue is shown however many others there have been', () => {
  const feed = new Feed();
  const { sink } = feed.attach();
  for (let version = 2; version < 40; version += 1)
    send(sink, 9, 0, videoHeader(AVC_360P.map((byte, i) => (i === 0 ? version : byte))));
  expect(sink.figures().issues).toHaveLength(16);
  expect(sink.figures().issues).toContain(issues.badVideoHeader('its version is 39, not 1'));
  feed.clock.advance(60_000);
  expect(sink.figures().issues).toEqual([]);
  send(sink, 8, 0, audioHeader(new Uint8Array(1)));
  expect(sink.figures().issues).toEqual([issues.badAudioHeader('it is too short')]);
});

test('media that comes in no time does not pile up behind the list', async () => {
  const feed = new Feed();
  const { sink, fatal } = feed.attach();
  send(sink, 9, 0, videoHeader(AVC_360P));
  let stamp = 0;
  for (let index = 0; index < 2000; index += 1) {
    send(sink, 9, stamp, frame({ isKey: true, size: 4 }));
    stamp += Math.min(2400, 300 + index * 300);
  }
  expect(fatal).toEqual([]);
  const { segments } = parsePlaylist(await feed.text('source.m3u8'));
  expect(feed.output.bytes / 4096).toBeLessThanOrEqual(segments.length + 100 + 1);
});

test('one message in a codec that cannot be passed on does not end a picture that plays', async () => {
  const feed = new Feed();
  const { sink, fatal } = feed.attach();
  sink.onMetadata(['onMetaData', { width: 640, height: 360 }]);
  sendHeaders(sink, { audio: new Uint8Array() });
  await play(feed, sink, { seconds: 3, audio: false });
  const stray = Uint8Array.of(0x12, 0, 0);
  send(sink, 9, 3000, stray);
  expect(sink.figures().issues.join()).toContain('Sorenson H.263');
  await play(feed, sink, { seconds: 8, from: 3000, audio: false });
  send(sink, 9, 11_000, stray);
  expect(fatal).toEqual([]);
  // Without a picture for long, it does.
  feed.clock.advance(5000);
  send(sink, 9, 16_000, stray);
  expect(fatal).toEqual([expect.stringContaining('Sorenson H.263')]);
});

test('messages of no use do not fill an arena while a sample waits there', async () => {
  const feed = new Feed();
  const { sink } = feed.attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 3 });
  send(sink, 8, 3000, audioHeader(AAC_44100_MONO));
  // The next key frame, with which the new sound begins, does not come.
  for (let time = 3000; time < 33_000; time += 25) {
    send(sink, 9, time, frame({ isKey: false }));
    send(sink, 8, time, sound());
    feed.clock.advance(25);
  }
  const [audio, video] = [sink.audio.length, sink.video.length];
  for (let index = 0; index < 100; index += 1) {
    send(sink, 8, 33_000, new Uint8Array(1000).fill(0xaf));
    send(sink, 9, 33_000, new Uint8Array(1000).fill(0x57));
  }
  expect(audio).toBeLessThan(10_000);
  expect([sink.audio.length, sink.video.length]).toEqual([audio, video]);
});
