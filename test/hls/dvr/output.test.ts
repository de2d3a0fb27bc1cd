import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CHUNK, KEPT } from '../../../runtime/media/dvr/dvr.ts';
import { MemoryBudget } from '../../../runtime/media/publish/memory-budget.ts';
import { SegmentRows } from '../../../runtime/media/recording/file/segment-rows.ts';
import { RecordingFile } from '../../../runtime/media/recording/recording-file.ts';
import { EventFollower, parseSegmentPlaylist } from '../event-checker.ts';
import { AVC_240P, Feed, play, send, sendHeaders, videoHeader } from '../feed.ts';
import { ScriptedTake } from '../scripted-take.ts';
import { init, origin, takeOf } from './kit.ts';

/** A feed and a take of each session. */
function recorded(config = {}, limit = 2 ** 32) {
  const memory = new MemoryBudget({ limit });
  const feed = new Feed(config, memory.open());
  const takes = new Map<string, ScriptedTake>();
  const take = (sessionId = 'x') => {
    const known = takes.get(sessionId) ?? new ScriptedTake();
    takes.set(sessionId, known);
    return known;
  };
  const attach = (sessionId = 'x') =>
    feed.attach({ sessionId }, { open: () => take(sessionId).feed(), onTrouble: () => {} });
  const status = async (file: string, query = '') =>
    (await feed.output.serve(file, new URLSearchParams(query))).status;
  return { feed, take, attach, status, memory };
}

test('a viewer follows a broadcast over a change of settings, a reconnect and a takeover, from its first second', async () => {
  const { feed, attach, take } = recorded();
  const follower = new EventFollower((uri) => feed.bytes(uri));
  const live = new Map<string, Uint8Array>();
  let text = '';
  const look = async () => {
    if (take().count === 0) return;
    const next = await feed.text('dvr.m3u8', '_HLS_skip=YES');
    if (next !== text) await follower.see(next);
    text = next;
    for (const { uri } of parseLive(await feed.text('source.m3u8')))
      if (!live.has(uri)) live.set(uri, await feed.bytes(uri));
  };
  const first = attach();
  sendHeaders(first.sink);
  await play(feed, first.sink, { seconds: 40, after: look });
  send(first.sink, 9, 40_000, videoHeader(AVC_240P));
  await play(feed, first.sink, { seconds: 30, from: 40_000, after: look });
  feed.output.detach(first.grant.token);
  await look();
  const held = follower.last?.segments.length ?? 0;
  feed.clock.advance(9000);
  // Nobody publishes, and it plays all the same.
  const { segments: kept } = parseSegmentPlaylist(await feed.text('dvr.m3u8'));
  expect(kept).toHaveLength(held);
  expect((await feed.bytes(kept[0].uri)).length).toBeGreaterThan(1000);
  const second = attach();
  sendHeaders(second.sink);
  expect(parseSegmentPlaylist(await feed.text('dvr.m3u8')).segments).toHaveLength(held);
  await play(feed, second.sink, { seconds: 30, after: look });
  const third = attach();
  sendHeaders(third.sink);
  await play(feed, third.sink, { seconds: 30, after: look });

  const { segments, type, sequence } = follower.last ?? {};
  expect([type, sequence]).toEqual(['EVENT', 0]);
  expect(new Set(segments?.map((segment) => segment.discontinuities)).size).toBe(4);
  const total = segments?.reduce((sum, { duration }) => sum + duration, 0) ?? 0;
  expect(total).toBeGreaterThan(125);
  expect((segments?.at(-1)?.wall ?? 0) - (segments?.[0].wall ?? 0)).toBeGreaterThan(134_000);
  // The very bytes that were live, in the same order.
  const served = [...live.values()].slice(0, segments?.length);
  for (const [number, { uri }] of (segments ?? []).entries())
    expect([uri, Buffer.compare(follower.fetched.get(uri) as Uint8Array, served[number])]).toEqual([uri, 0]);
});

function parseLive(text: string): { uri: string }[] {
  return text
    .split('\n')
    .filter((line) => line.endsWith('.mp4') && !line.startsWith('#'))
    .map((uri) => ({ uri }));
}

test('index.m3u8 leads there when it is asked for it, and to the live playlist otherwise', async () => {
  const { feed, attach } = recorded();
  const { sink } = attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 9 });
  const index = await feed.text('index.m3u8', 'dvr=1');
  expect(index.trim().split('\n').at(-1)).toBe('dvr.m3u8');
  expect(index).toMatch(
    /^#EXT-X-STREAM-INF:BANDWIDTH=\d+,AVERAGE-BANDWIDTH=\d+,CODECS="avc1.64001e,mp4a.40.2",RESOLUTION=640x360,FRAME-RATE=30.000$/m,
  );
  for (const query of ['', 'dvr=0', 'dvr=x'])
    expect((await feed.text('index.m3u8', query)).trim().split('\n').at(-1)).toBe('source.m3u8');
  const head = async (file: string, query = '') => {
    const { status, headers } = await feed.output.serve(file, new URLSearchParams(query));
    return [
      status,
      headers.get('content-type'),
      headers.get('cache-control'),
      headers.get('access-control-allow-origin'),
    ];
  };
  const { segments } = parseSegmentPlaylist(await feed.text('dvr.m3u8'));
  const media = [200, 'video/mp4', 'public, max-age=3600, immutable', '*'];
  for (const file of [segments[0].uri, segments[0].map]) expect(await head(file)).toEqual(media);
  const type = 'application/vnd.apple.mpegurl';
  expect(await head('dvr.m3u8')).toEqual([200, type, 'public, max-age=1', '*']);
  expect(await head('index.m3u8', 'dvr=1')).toEqual([200, type, 'public, max-age=4', '*']);
});

test('404 where nothing is recorded, nothing is there yet, it is over, or there is no such file', async () => {
  const { feed, attach, take, status } = recorded();
  const ask = async () => [await status('index.m3u8', 'dvr=1'), await status('dvr.m3u8')];
  const plain = feed.attach({ sessionId: 'plain' });
  sendHeaders(plain.sink);
  await play(feed, plain.sink, { seconds: 5 });
  expect(await ask()).toEqual([404, 404]);
  const answer = await feed.output.serve('dvr.m3u8');
  expect(await answer.json()).toMatchObject({ code: 'playback.not_recorded' });
  expect(answer.headers.get('retry-after')).toBe('1');
  const { sink, grant } = attach();
  expect(await ask()).toEqual([404, 404]);
  sendHeaders(sink);
  await play(feed, sink, { seconds: 6 });
  expect(await ask()).toEqual([200, 200]);
  const { segments } = parseSegmentPlaylist(await feed.text('dvr.m3u8'));
  const [prefix] = segments[0].uri.split('_');
  for (const odd of [
    `${prefix}_dvr${segments.length}.mp4`,
    `${prefix}_dvr00.mp4`,
    `${prefix}_dvr0.0.mp4`,
    `${prefix}_dvr.mp4`,
    `${prefix}_dvr-1.mp4`,
    `${prefix}_dvrinit1.mp4`,
    'ffffffffffff_dvr0.mp4',
    'DVR.m3u8',
  ])
    expect([odd, await status(odd)]).toEqual([odd, 404]);
  // One that comes back and is not recorded any more: nothing to seek in.
  feed.output.detach(grant.token);
  const back = feed.attach({ sessionId: 'x' }, { open: () => undefined, onTrouble: () => {} });
  expect([...(await ask()), await status(segments[0].uri)]).toEqual([404, 404, 404]);
  feed.output.detach(back.grant.token);
  attach();
  expect(await ask()).toEqual([200, 200]);
  feed.output.end();
  expect([...(await ask()), await status(segments[0].uri)]).toEqual([404, 404, 404]);
  expect(feed.clock.timers).toBe(0);
  expect(take().count).toBe(segments.length + 1);
});

test('another session on the same playlist: numbers and names go on, and none stands for two things', async () => {
  const { feed, attach, take } = recorded();
  const first = attach('a');
  sendHeaders(first.sink);
  await play(feed, first.sink, { seconds: 9 });
  const before = parseSegmentPlaylist(await feed.text('dvr.m3u8'));
  const second = attach('b');
  sendHeaders(second.sink);
  await play(feed, second.sink, { seconds: 9 });
  const after = parseSegmentPlaylist(await feed.text('dvr.m3u8'));
  expect(after.sequence).toBe(take('a').count);
  expect(after.discontinuitySequence).toBe(1);
  expect(after.segments).toHaveLength(take('b').count);
  const names = [...before.segments, ...after.segments].flatMap(({ uri, map }) => [uri, map]);
  expect(new Set(names).size).toBe(before.segments.length + after.segments.length + 2);
  const { at, size } = take('b').segment(0);
  expect(await feed.bytes(after.segments[0].uri)).toEqual(await take('b').bytes(at, at + size));
});

/** An output that begins with a long take, as after a restart of the process. */
async function long(count: number, limit?: number) {
  const given = recorded({}, limit);
  const { take } = takeOf(count);
  const feed = { begin: () => {}, part: () => true, end: () => {}, issues: [], written: take };
  const publisher = given.feed.attach({}, { open: () => feed, onTrouble: () => {} });
  sendHeaders(publisher.sink);
  await play(given.feed, publisher.sink, { seconds: 1 });
  return { ...given, take };
}

test('a long recording that nobody asked for yet is written in pieces, once for all who wait', async () => {
  const { feed, take } = await long(5000);
  const answers = ['index.m3u8', 'dvr.m3u8', 'dvr.m3u8'].map((file) =>
    feed.output.serve(file, new URLSearchParams('dvr=1')),
  );
  expect(answers.every((answer) => answer instanceof Promise)).toBe(true);
  let turns = 0;
  let isOver = false;
  const all = Promise.all(answers).finally(() => {
    isOver = true;
  });
  for (; !isOver; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(turns).toBeGreaterThanOrEqual(5000 / CHUNK - 2);
  const texts = await Promise.all((await all).map((answer) => answer.text()));
  expect(parseSegmentPlaylist(texts[1]).segments).toHaveLength(5000);
  expect(texts[2]).toBe(texts[1]);
  take.count += 1;
  expect(feed.output.serve('dvr.m3u8')).toBeInstanceOf(Response);
});

test('what is written is held against the memory of live media, and let go when nobody asks', async () => {
  const { feed, memory } = await long(200);
  const before = memory.held;
  await feed.text('dvr.m3u8');
  const held = memory.held - before;
  expect(held).toBeGreaterThan(2 * 200 * 80);
  feed.clock.advance(KEPT - 1000);
  await feed.text('dvr.m3u8');
  feed.clock.advance(KEPT - 1000);
  expect(memory.held - before).toBe(held);
  feed.clock.advance(1001);
  expect(memory.held).toBe(before);
  expect(feed.clock.timers).toBe(0);
  expect(parseSegmentPlaylist(await feed.text('dvr.m3u8')).segments).toHaveLength(200);
  feed.output.end();
  expect([memory.held, feed.clock.timers]).toEqual([0, 0]);
});

test('without memory for it: 503, and the broadcast goes on', async () => {
  const { feed, status } = await long(20_000, 2_000_000);
  expect(await status('dvr.m3u8')).toBe(503);
  expect(await status('index.m3u8', 'dvr=1')).toBe(503);
  expect(await status('source.m3u8')).toBe(200);
  feed.output.end();
});

test('a segment is read off the thread that serves, however long the disk takes, and 404 when the file is gone', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-dvr-'));
  const path = join(folder, 'source.mp4');
  const bytes = crypto.getRandomValues(new Uint8Array(6000));
  writeFileSync(path, bytes);
  const about = { version: 1, sessionId: 's', streamId: 'x', folder: 'f', takeId: 't', gaps: 0 } as const;
  const written = new RecordingFile({ number: 1, folder, meta: about, bytes: 6000, writtenAt: 0 });
  const segment = { at: 800, size: 5200, duration: 2, wallStart: origin, init: 0, isDiscontinuity: true };
  const rows = new SegmentRows();
  rows.push(segment);
  const state = { bytes: 6000, writtenAt: 0, durable: 0, gaps: 0, taken: 0, reasons: [] };
  written.note({ ...state, file: 1, inits: [init], firstInit: 0, firstRow: 0, rows: rows.since(0) });
  const { feed } = recorded();
  const fed = { begin: () => {}, part: () => true, end: () => {}, issues: [], written };
  const publisher = feed.attach({}, { open: () => fed, onTrouble: () => {} });
  sendHeaders(publisher.sink);
  await play(feed, publisher.sink, { seconds: 1 });
  const [{ uri }] = parseSegmentPlaylist(await feed.text('dvr.m3u8')).segments;
  const answer = await feed.output.serve(uri);
  expect(answer.headers.get('content-length')).toBe('5200');
  expect(Buffer.compare(await answer.bytes(), bytes.subarray(800))).toBe(0);
  // A pipe that nobody writes to is a disk that does not answer.
  rmSync(path);
  execFileSync('mkfifo', [path]);
  let isAnswered = false;
  const slow = Promise.resolve(feed.output.serve(uri)).finally(() => {
    isAnswered = true;
  });
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(isAnswered).toBe(false);
  await (await open(path, 'r+')).close();
  await (await slow).body?.cancel();
  rmSync(folder, { recursive: true });
  expect((await feed.output.serve(uri)).status).toBe(404);
});

test('over while it is being written: 404', async () => {
  const { feed } = await long(5000);
  const answer = feed.output.serve('dvr.m3u8');
  feed.output.end();
  expect((await answer).status).toBe(404);
});
