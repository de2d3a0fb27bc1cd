import { expect, test } from 'vitest';
import { MemoryBudget } from '../../runtime/media/publish/memory-budget.ts';
import { Feed, frame, play, send, sendHeaders, sound } from '../hls/feed.ts';
import { grant, sendHeaders as headers, sendMedia, station, until } from './kit.ts';

test('never more than the limit, and less is always granted', () => {
  const budget = new MemoryBudget({ limit: 1000 });
  const share = budget.open();
  const [window, arena] = [share.hold(), share.hold()];
  expect(window.resize(700)).toBe(true);
  expect(arena.resize(301)).toBe(false);
  expect(arena.resize(300)).toBe(true);
  expect(window.resize(701)).toBe(false);
  expect(budget.held).toBe(1000);
  expect(budget.isSpent).toBe(true);
  expect(window.resize(10)).toBe(true);
  expect(budget.held).toBe(310);
  share.close();
  share.close();
  expect(budget.held).toBe(0);
  expect(window.resize(99_999)).toBe(true);
  expect(budget.held).toBe(0);
});

test('who holds more than the average gets nothing of the last quarter; who holds less does', () => {
  const budget = new MemoryBudget({ limit: 1000 });
  const [greedy, modest] = [budget.open().hold(), budget.open().hold()];
  expect(greedy.resize(751)).toBe(false);
  expect(greedy.resize(750)).toBe(true);
  expect(greedy.resize(760)).toBe(false);
  expect(modest.resize(251)).toBe(false);
  expect(modest.resize(250)).toBe(true);
});

test('a broadcast that grows beyond the budget is told why, and its bytes count no more once it is gone', async () => {
  const budget = new MemoryBudget({ limit: 300_000 });
  const feed = new Feed({}, budget.open());
  const { sink, fatal, grant: own } = feed.attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 12 });
  expect(fatal).toEqual([expect.stringContaining('no memory left')]);
  expect(budget.held).toBeLessThanOrEqual(300_000);
  expect(await feed.text('source.m3u8')).toContain('seg100');
  const before = budget.held;
  feed.output.detach(own.token);
  expect(budget.held).toBeLessThan(before);
  void feed.output.end();
  expect(budget.held).toBe(0);
});

test('what is held is what is kept, however long it runs', async () => {
  const budget = new MemoryBudget({ limit: 2 ** 30 });
  const feed = new Feed({}, budget.open());
  const { sink } = feed.attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 60 });
  const arenas = sink.video.bytes.length + sink.audio.bytes.length;
  expect(budget.held - arenas).toBeGreaterThanOrEqual(feed.output.bytes * 0.9);
  expect(budget.held - arenas).toBeLessThanOrEqual(feed.output.bytes * 1.1);
});

test('one message that is too large for the budget does not fit its arena', () => {
  const budget = new MemoryBudget({ limit: 200_000 });
  const feed = new Feed({}, budget.open());
  const { sink } = feed.attach();
  expect(() => send(sink, 9, 0, frame({ isKey: true, size: 300_000 }))).toThrow('the arena is full');
  expect(sink.video.bytes.length).toBe(64 * 1024);
  // Not twice as much as before, but as much as is there.
  send(sink, 9, 0, frame({ isKey: true, size: 140_000 }));
  expect(budget.held).toBeLessThanOrEqual(200_000);
});

test('on the socket: the one that is too large is rejected, the other goes on, and a third may not begin', async () => {
  await using s = await station(undefined, { memory: 3_000_000 });
  const modest = await s.encoder('modest');
  headers(modest);
  sendMedia(modest, { seconds: 5 });
  const greedy = await s.encoder('greedy');
  headers(greedy);
  for (let index = 0; index < 200; index += 1)
    greedy.sendVideo(frame({ isKey: true, size: 60_000 }), index * 33);
  expect(await greedy.closed).toMatchObject({ cause: 'refused', code: 'NetStream.Publish.Rejected' });
  sendMedia(modest, { seconds: 5, from: 5000 });
  await until('all of the other', () => (s.media.figures('t1')?.duration ?? 0) > 9.9);
  expect(s.lines.join()).toContain('no memory left');
});

test('with the budget spent a new broadcast is refused; one that is known may come back', async () => {
  await using s = await station(async ({ key }) => grant({ token: key, playbackId: key.slice(0, 1) }), {
    memory: 1_060_000,
  });
  const first = await s.encoder('a1');
  await expect(s.encoder('b1')).rejects.toMatchObject({ code: 'NetStream.Publish.Rejected' });
  expect(s.lines.join()).toContain('hls.memory');
  await first.close({ clean: false });
  await until('its end', () => s.told().includes('closed a1'));
  const again = await s.encoder('a2');
  await again.close({ clean: true });
});

test('a broadcast that is over frees its arenas at once, and takes what its encoder still sends', async () => {
  const feed = new Feed();
  const { sink, fatal, grant: own } = feed.attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 3 });
  const { video, audio } = sink;
  const held = [video.bytes, audio.bytes];
  // A picture is half here when another publisher takes over.
  video.messageStart = video.length;
  expect(video.reserve(3000)).toBe(true);
  video.bytes.fill(1, video.length, video.length + 3000);
  video.length += 3000;
  feed.attach();
  expect(held.map(({ length }) => length)).toEqual([0, 0]);
  expect(video.reserve(9000)).toBe(true);
  video.length += 9000;
  const start = video.messageStart;
  video.messageStart = -1;
  sink.onVideo(start, video.length, 3100);
  expect(video.bytes).toHaveLength(0);
  for (let i = 0; i < 100; i += 1) {
    send(sink, 9, 3133 + i, frame({ isKey: true, size: 500_000 }));
    send(sink, 8, 3133 + i, sound());
  }
  expect([video.bytes.length, audio.bytes.length]).toEqual([0, 0]);
  feed.output.detach(own.token);
  expect(fatal).toEqual([]);
});

test('a broadcast that is ended by a message of its own frees its arenas during that message', async () => {
  const feed = new Feed({ sampleLimit: 40 });
  const { sink, fatal, grant: own } = feed.attach();
  const closing = fatal.push.bind(fatal);
  // As the listener does: the publish is detached while its sink is being called.
  fatal.push = (...reasons) => {
    feed.output.detach(own.token);
    return closing(...reasons);
  };
  sendHeaders(sink);
  send(sink, 9, 0, frame({ isKey: true }));
  for (let i = 0; i < 60; i += 1) send(sink, 8, 0, sound());
  for (let i = 1; i < 60; i += 1) send(sink, 9, 0, frame({ isKey: false }));
  expect(fatal).toHaveLength(1);
  expect([sink.video.bytes.length, sink.audio.bytes.length]).toEqual([0, 0]);
});
