import { expect, test } from 'vitest';
import { parsePlaylist } from './checker.ts';
import { AVC_360P, Feed, frame, play, send, sendHeaders, videoHeader } from './feed.ts';
import { decodeTimes } from './timestamp-cases.ts';
import { Viewer } from './viewer.ts';

/** True once a promise has its value, without waiting for it. */
async function isSettled(promise: Promise<unknown> | unknown): Promise<boolean> {
  const open = Symbol();
  for (let i = 0; i < 5; i += 1) await Promise.resolve();
  return (await Promise.race([promise, Promise.resolve(open)])) !== open;
}

/** A feed whose publisher is some seconds in. */
async function running(seconds = 5, config = {}) {
  const feed = new Feed(config);
  const publisher = feed.attach();
  sendHeaders(publisher.sink);
  await play(feed, publisher.sink, { seconds });
  const ask = (query: string, signal?: AbortSignal) =>
    feed.output.serve('source.m3u8', new URLSearchParams(query), signal);
  const now = async () => parsePlaylist(await feed.text('source.m3u8'));
  return { feed, publisher, ask, now };
}

test('a publisher comes back: one playlist, one discontinuity, numbers that go on', async () => {
  const feed = new Feed();
  const viewer = new Viewer(feed);
  const after = () => viewer.look();
  for (let turn = 0; turn < 4; turn += 1) {
    const publisher = feed.attach({
      mediaSequence: 1000 * turn,
      discontinuitySequence: 7 + turn,
    });
    const { sink, grant } = publisher;
    sendHeaders(sink);
    await play(feed, sink, { seconds: 6 + turn / 7, after });
    if (turn % 2 === 0) {
      feed.output.detach(grant.token);
      await viewer.look();
      feed.clock.advance(9000);
      expect((await feed.text('source.m3u8')).includes('PRELOAD-HINT')).toBe(false);
    }
    expect(publisher.playable).toBe(1);
    expect(sink.figures().issues).toEqual([]);
  }
  expect(viewer.segments.map((segment) => segment.sequence)).toEqual(viewer.segments.map((_, i) => i));
  expect(viewer.segments.at(-1)?.discontinuities).toBe(10);
  expect(viewer.segments[0].discontinuities).toBe(7);
  const walls = viewer.segments.map((segment) => segment.wall ?? 0);
  expect(walls).toEqual([...walls].sort((a, b) => a - b));
});

test('a taken over sink is inert, and its token no longer detaches', async () => {
  const { feed, publisher, now } = await running();
  const second = feed.attach();
  const before = JSON.stringify(await now());
  send(publisher.sink, 9, 5000, frame({ isKey: true }));
  publisher.sink.video.reserve(10);
  await play(feed, publisher.sink, { seconds: 3, from: 5000 });
  expect(publisher.sink.video.length + publisher.sink.audio.length).toBe(0);
  expect(JSON.stringify(await now())).toBe(before);
  feed.output.detach(publisher.grant.token);
  sendHeaders(second.sink);
  await play(feed, second.sink, { seconds: 3 });
  expect((await now()).segments.at(-1)?.discontinuities).toBe(1);
  expect(second.playable).toBe(1);
});

test('numbers of the grant count when nothing is listed', async () => {
  const feed = new Feed();
  const { sink } = feed.attach({ mediaSequence: 4000, discontinuitySequence: 3, targetDuration: 9 });
  expect((await feed.output.serve('index.m3u8')).status).toBe(404);
  expect((await feed.output.serve('index.m3u8')).headers.get('Retry-After')).toBe('1');
  expect((await feed.output.serve('source.m3u8')).status).toBe(404);
  sendHeaders(sink);
  await play(feed, sink, { seconds: 1 });
  const playlist = parsePlaylist(await feed.text('source.m3u8'));
  expect([playlist.sequence, playlist.discontinuitySequence, playlist.target]).toEqual([4000, 3, 9]);
});

test('decode times begin at the age of the stream, to the quarter second, of any length', async () => {
  const starts: number[] = [];
  // Twenty years are more than 32 bits of ticks, and less than a number can hold.
  for (const quarters of [0, 121, 4 * 631_000_000]) {
    const feed = new Feed();
    const viewer = new Viewer(feed);
    const { sink } = feed.attach({ mediaSequence: quarters });
    sendHeaders(sink);
    await play(feed, sink, { seconds: 3, after: () => viewer.look() });
    // Picture and sound stay together.
    starts.push(...[1, 2].map((track) => decodeTimes(viewer, track)[0]));
  }
  expect(starts).toEqual([10_000, 10_000, 40_250, 40_250, 631_000_010_000, 631_000_010_000]);
});

test('headers and unknown files', async () => {
  const { feed, now } = await running();
  const playlist = await now();
  const head = async (file: string) => {
    const { status, headers } = await feed.output.serve(file);
    const cache = headers.get('Cache-Control');
    return [status, headers.get('Content-Type'), cache, headers.get('Access-Control-Allow-Origin')];
  };
  const { uri, map, parts } = playlist.segments[1];
  const media = [200, 'video/mp4', 'public, max-age=3600, immutable', '*'];
  for (const file of [uri, map, parts[0].uri, parts[0].uri]) expect(await head(file)).toEqual(media);
  const type = 'application/vnd.apple.mpegurl';
  expect(await head('source.m3u8')).toEqual([200, type, 'public, max-age=1', '*']);
  expect(await head('index.m3u8')).toEqual([200, type, 'public, max-age=4', '*']);
  const index = await feed.text('index.m3u8');
  expect(index.trim().split('\n').at(-1)).toBe('source.m3u8');
  expect(index).toMatch(
    /BANDWIDTH=\d+,AVERAGE-BANDWIDTH=\d+,CODECS="avc1.64001e,mp4a.40.2",RESOLUTION=640x360,FRAME-RATE=30.000/,
  );
  const prefix = uri.split('_')[0];
  for (const odd of [
    '',
    'x',
    '../index.m3u8',
    `${prefix}`,
    `${prefix}_seg.mp4`,
    `${prefix}_seg99999.mp4`,
    `${prefix}_seg101.0.mp4`,
    `${prefix}_part101.mp4`,
    `${prefix}_part101.99.mp4`,
    `${prefix}_part105.7.mp4`,
    `${prefix}_init7.mp4`,
    `${prefix}_seg00101.mp4`,
    `${prefix}_seg1e2.mp4`,
    `${uri}${'x'.repeat(9000)}`,
    '__proto__',
    `${prefix}_seg-1.mp4`,
    `${prefix}_part101.-1.mp4`,
  ])
    expect([odd, ...(await head(odd))]).toEqual([odd, 404, 'application/json', 'no-store', '*']);
});

test('segments leave the list, stay a target duration longer, and then are gone', async () => {
  const feed = new Feed();
  const { sink } = feed.attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 13 });
  const first = parsePlaylist(await feed.text('source.m3u8')).segments;
  await play(feed, sink, { seconds: 4, from: 13_000 });
  const second = parsePlaylist(await feed.text('source.m3u8'));
  expect(second.sequence).toBeGreaterThan(100);
  expect((await feed.output.serve(first[0].uri)).status).toBe(200);
  await play(feed, sink, { seconds: 8, from: 17_000 });
  expect((await feed.output.serve(first[0].uri)).status).toBe(404);
  const listed = parsePlaylist(await feed.text('source.m3u8')).segments;
  expect(listed.reduce((sum, segment) => sum + segment.duration, 0)).toBeGreaterThanOrEqual(12);
});

test('memory: every buffer comes back at the end', async () => {
  const feed = new Feed();
  const { sink } = feed.attach();
  sendHeaders(sink);
  const viewer = new Viewer(feed);
  await play(feed, sink, { seconds: 40, after: () => viewer.look() });
  const { bytes } = feed.output;
  expect(bytes).toBeLessThan(1_500_000);
  void feed.output.end();
  expect(feed.output.bytes).toBe(0);
  for (const file of ['index.m3u8', 'source.m3u8', viewer.segments[5].uri])
    expect((await feed.output.serve(file)).status).toBe(404);
  await play(feed, sink, { seconds: 2, from: 40_000 });
  expect([feed.output.bytes, feed.output.isPlayable, sink.video.length]).toEqual([0, false, 0]);
  expect(feed.clock.timers).toBe(0);
});

test('a viewer who reads late gets the bytes of then, though their buffer has been used again', async () => {
  const { feed, publisher, now } = await running(10);
  const { segments, open } = await now();
  const early = [segments[1].uri, segments[2].parts[0].uri, open.parts[0].uri];
  const answers = early.map((uri) => feed.output.serve(uri) as Response);
  const copies = await Promise.all(early.map((uri) => feed.bytes(uri)));
  await play(feed, publisher.sink, { seconds: 60, from: 10_000 });
  for (const [i, answer] of answers.entries())
    expect(Buffer.compare(await answer.bytes(), copies[i])).toBe(0);
});

test('a window whose media is fetched is as large as one of which only the playlist is', async () => {
  const sizes: number[] = [];
  for (const isWatched of [false, true]) {
    const feed = new Feed();
    const viewer = new Viewer(feed);
    const { sink } = feed.attach();
    sendHeaders(sink);
    await play(feed, sink, { seconds: 40, after: () => (isWatched ? viewer.look() : ask(feed)) });
    sizes.push(feed.output.bytes);
  }
  expect(sizes[1]).toBe(sizes[0]);
});

/** Takes the playlist, if there is one. */
const ask = (feed: Feed) => void feed.output.serve('source.m3u8');

test('a segment that has left the list stays for a while if somebody took the playlist, and goes at once if nobody did', async () => {
  const feed = new Feed();
  const { sink } = feed.attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 14 });
  ask(feed);
  await play(feed, sink, { seconds: 10, from: 14_000 });
  // What was taken 10 s ago is still what a player may go by.
  const isThere = (sequence: number) => feed.output.broadcast.output.window.segment(sequence) !== undefined;
  const first = () => feed.output.broadcast.output.window.listed[0].sequence;
  expect(isThere(first() - 1)).toBe(true);
  await play(feed, sink, { seconds: 10, from: 24_000 });
  expect(isThere(first() - 1)).toBe(false);
  expect(isThere(first())).toBe(true);
  ask(feed);
  await play(feed, sink, { seconds: 4, from: 34_000 });
  expect(isThere(first() - 1)).toBe(true);
});

test('a player whose reload waits through an absence still finds what its playlist listed', async () => {
  const feed = new Feed();
  const before = feed.attach();
  sendHeaders(before.sink);
  await play(feed, before.sink, { seconds: 14 });
  feed.output.detach(before.grant.token);
  const { segments } = parsePlaylist(await feed.text('source.m3u8'));
  // The player asks again and again, and waits each time; the last wait begins 3 s before media comes back.
  feed.clock.advance(60_000);
  const sequence = feed.output.broadcast.output.window.nextSequence;
  const reload = feed.output.serve('source.m3u8', new URLSearchParams(`_HLS_msn=${sequence}`));
  feed.clock.advance(3000);
  const after = feed.attach();
  sendHeaders(after.sink);
  await play(feed, after.sink, { seconds: 3 });
  expect((await reload).status).toBe(200);
  const listed = parsePlaylist(await feed.text('source.m3u8')).segments.map(({ uri }) => uri);
  const gone = segments.filter(({ uri }) => !listed.includes(uri));
  expect(gone.length).toBeGreaterThan(0);
  for (const { uri } of gone) expect((await feed.output.serve(uri)).status).toBe(200);
});

test('blocked reload: waits for the part, for the segment, and not for what is there', async () => {
  const { feed, publisher, ask, now } = await running();
  const { open } = await now();
  const { sequence } = open;
  expect(ask('_HLS_msn=1')).toBeInstanceOf(Response);
  expect(ask(`_HLS_msn=${sequence}&_HLS_part=${open.parts.length - 1}`)).toBeInstanceOf(Response);
  const part = ask(`_HLS_msn=${sequence}&_HLS_part=${open.parts.length}`);
  const segment = ask(`_HLS_msn=${sequence}`);
  const beyond = ask(`_HLS_msn=${sequence - 1}&_HLS_part=40`);
  const hinted = feed.output.serve((await now()).hint ?? '');
  expect(beyond).toBeInstanceOf(Response);
  expect(await isSettled(part)).toBe(false);
  await play(feed, publisher.sink, { seconds: 0.4, from: 5000 });
  expect(await isSettled(part)).toBe(true);
  expect(await isSettled(hinted)).toBe(true);
  expect((await hinted).status).toBe(200);
  expect(parsePlaylist(await (await part).text()).open.parts).toHaveLength(open.parts.length + 1);
  expect(await isSettled(segment)).toBe(false);
  await play(feed, publisher.sink, { seconds: 2.2, from: 5400 });
  expect(parsePlaylist(await (await segment).text()).segments.at(-1)?.sequence).toBe(sequence);
  expect([feed.output.waiting, feed.clock.timers]).toEqual([0, 0]);
});

test('a part behind the last of the newest segment is the first of the next', async () => {
  const { feed, publisher, ask, now } = await running(4.05);
  const { open, segments } = await now();
  expect(open.parts).toHaveLength(0);
  const reload = ask(`_HLS_msn=${open.sequence - 1}&_HLS_part=${segments.at(-1)?.parts.length}`);
  expect(await isSettled(reload)).toBe(false);
  await play(feed, publisher.sink, { seconds: 0.4, from: 4050 });
  expect((await reload).status).toBe(200);
});

test('bad values of a blocked reload are 400', async () => {
  const { ask, now } = await running();
  const { open } = await now();
  const status = async (query: string) => (await ask(query)).status;
  for (const query of [
    '_HLS_part=1',
    '_HLS_msn=x',
    '_HLS_msn=-1',
    '_HLS_msn=1.5',
    '_HLS_msn=',
    '_HLS_msn=1&_HLS_part=x',
    `_HLS_msn=${open.sequence + 2}`,
    '_HLS_msn=99999999999999999999',
    `_HLS_msn=${open.sequence}&_HLS_part=${open.parts.length + 9}`,
  ])
    expect([query, await status(query)]).toEqual([query, 400]);
});

test('nobody publishes: unchanged after 8 s; the hinted part is 404 at once', async () => {
  const { feed, publisher, ask, now } = await running();
  const { open, hint } = await now();
  const hinted = feed.output.serve(hint ?? '');
  const early = ask(`_HLS_msn=${open.sequence + 1}`);
  feed.output.detach(publisher.grant.token);
  // What was whole became the part that was hinted.
  expect((await hinted).status).toBe(200);
  expect((await feed.output.serve((hint ?? '').replace(/\d+\.mp4$/, '60.mp4'))).status).toBe(404);
  const late = ask(`_HLS_msn=${open.sequence + 1}&_HLS_part=0`);
  feed.clock.advance(7900);
  expect(await isSettled(early)).toBe(false);
  expect(await isSettled(late)).toBe(false);
  feed.clock.advance(200);
  expect([(await early).status, (await late).status]).toEqual([200, 200]);
  expect(parsePlaylist(await (await late).text()).segments.at(-1)?.sequence).toBe(open.sequence);
});

test('it is over: blocked requests are 404', async () => {
  const { feed, publisher, ask, now } = await running();
  const { open } = await now();
  feed.output.detach(publisher.grant.token);
  const reload = ask(`_HLS_msn=${open.sequence + 1}`);
  void feed.output.end();
  expect((await reload).status).toBe(404);
  expect([feed.output.waiting, feed.clock.timers]).toEqual([0, 0]);
});

test('waiting is bounded in time, in number and by the viewer', async () => {
  const { feed, ask, now } = await running(5, { waiterLimit: 3 });
  const { open, hint } = await now();
  const leaving = new AbortController();
  const reload = ask(`_HLS_msn=${open.sequence}`);
  const gone = ask(`_HLS_msn=${open.sequence}`, leaving.signal);
  const part = feed.output.serve(hint ?? '');
  expect((await ask(`_HLS_msn=${open.sequence}`)).status).toBe(503);
  leaving.abort();
  await gone;
  expect(feed.output.waiting).toBe(2);
  feed.clock.advance(12_100);
  expect([(await reload).status, (await part).status]).toEqual([503, 404]);
  expect([feed.output.waiting, feed.clock.timers]).toEqual([0, 0]);
});

test('figures: bytes, rate, time of the last media', async () => {
  const { feed, publisher } = await running();
  const figures = publisher.sink.figures();
  expect(figures.lastMediaAt).toBeGreaterThan(feed.clock.now() - 50);
  expect(figures.ingestRate).toBeGreaterThan((figures.bytes * 8) / 5 / 1.3);
  expect(figures.ingestRate).toBeLessThan(((figures.bytes * 8) / 5) * 1.3);
  feed.clock.advance(60_000);
  expect(publisher.sink.figures().ingestRate).toBe(0);
});

test('whatever bytes come, nothing throws and nothing is kept for ever', () => {
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31;
    return seed % below;
  };
  for (let round = 0; round < 300; round += 1) {
    const feed = new Feed();
    const { sink } = feed.attach();
    if (round % 2 === 0) sendHeaders(sink);
    else send(sink, 9, 0, videoHeader(AVC_360P));
    for (let i = 0; i < 200; i += 1) {
      const body = Uint8Array.from({ length: random(60) }, () => random(256));
      if (body.length > 1 && random(4) > 0) body.set(random(2) === 0 ? [0x17, random(3)] : [0xaf, random(2)]);
      send(sink, random(2) === 0 ? 8 : 9, random(3) === 0 ? random(2 ** 31) * 2 : i * 30, body);
      feed.clock.advance(random(50));
    }
    feed.output.detach('t1');
    void feed.output.end();
    expect(feed.output.bytes).toBe(0);
  }
});
