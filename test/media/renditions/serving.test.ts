import { expect, test } from 'vitest';
import type { RenditionProfile } from '../../../core/ports/transcoder.ts';
import { answersReload, parsePlaylist } from '../../hls/checker.ts';
import { Feed, play, sendHeaders } from '../../hls/feed.ts';
import { expectAligned } from './aligned.ts';
import { broadcast, profileOf, settled, TWO } from './kit.ts';
import { recordsOf } from './process.ts';

const TWO_RECORDS = recordsOf(2);

/** A broadcast with renditions that is some seconds in. */
async function running(seconds = 8, options: Parameters<typeof broadcast>[0] = {}) {
  const air = broadcast(options);
  const publisher = air.attach();
  sendHeaders(publisher.sink);
  await play(air.feed, publisher.sink, { seconds, after: () => settled(1) });
  await settled();
  const ask = (file: string, query = '') => air.feed.output.serve(file, new URLSearchParams(query));
  const status = async (file: string, query = '') => (await ask(file, query)).status;
  const now = async (file: string) => parsePlaylist(await air.feed.text(file), { isUneven: true });
  const variants = async () =>
    (await air.feed.text('index.m3u8')).split('\n').filter((line) => line.endsWith('.m3u8'));
  let from = seconds * 1000;
  const goOn = async (more: number, after: () => unknown = () => settled(1)) => {
    await play(air.feed, publisher.sink, { seconds: more, from, after });
    from += more * 1000;
    await settled();
  };
  return { ...air, publisher, ask, status, now, variants, goOn };
}

async function isSettled(promise: Promise<unknown> | unknown): Promise<boolean> {
  const open = Symbol();
  await settled(2);
  return (await Promise.race([promise, Promise.resolve(open)])) !== open;
}

test('the multivariant playlist names the source first, then what there is of its renditions', async () => {
  const { feed, variants } = await running(8, { profiles: [...TWO, profileOf('third')] });
  expect(await variants()).toEqual(['source.m3u8', 'r1.m3u8', 'r2.m3u8', 'r3.m3u8']);
  const lines = (await feed.text('index.m3u8'))
    .split('\n')
    .filter((line) => line.startsWith('#EXT-X-STREAM-INF'));
  expect(lines.map((line) => line.replace(/BANDWIDTH=\d+/g, 'BANDWIDTH=n'))).toEqual(
    [
      'CODECS="avc1.64001e,mp4a.40.2",RESOLUTION=640x360,FRAME-RATE=30.000',
      'CODECS="avc1.64001e,mp4a.40.2",RESOLUTION=640x360,FRAME-RATE=30.000',
      'CODECS="avc1.42c00d,mp4a.40.2",RESOLUTION=322x242,FRAME-RATE=25.000',
      'CODECS="avc1.64001e,mp4a.40.2",RESOLUTION=640x360,FRAME-RATE=30.000',
    ].map((rest) => `#EXT-X-STREAM-INF:BANDWIDTH=n,AVERAGE-BANDWIDTH=n,${rest}`),
  );
  const rates = lines.map((line) => Number(/AVERAGE-BANDWIDTH=(\d+)/.exec(line)?.[1]));
  expect(rates[0]).toBeGreaterThan(rates[1] * 1.5);
});

test('what is behind, suspended or not there yet is not offered; who plays it goes on', async () => {
  const { maker, variants, status, goOn, now } = await running(0.1);
  expect(await status('r1.m3u8')).toBe(404);
  await goOn(6);
  expect(await variants()).toHaveLength(3);
  maker.isHeld = true;
  await goOn(1.5);
  expect(await variants()).toHaveLength(3);
  await goOn(1.5);
  expect(maker.ladder.lag).toBeGreaterThan(2000);
  expect(maker.ladder.isListed(0)).toBe(false);
  expect(await variants()).toEqual(['source.m3u8']);
  expect(await status('r1.m3u8')).toBe(200);
  maker.isHeld = false;
  maker.wake();
  await settled();
  expect(await variants()).toHaveLength(3);
  maker.ladder.suspend();
  expect(await variants()).toEqual(['source.m3u8']);
  expect(await status('r1.m3u8')).toBe(200);
  await goOn(1);
  expect(await variants()).toHaveLength(3);
  expect((await now('r1.m3u8')).segments.length).toBeGreaterThan(3);
});

test('each playlist reports the others, as they are by then', async () => {
  const { maker, now, goOn } = await running(8.2);
  const last = async (file: string) => {
    const { segments, open } = await now(file);
    const { sequence, parts } = open.parts.length > 0 ? open : (segments.at(-1) ?? open);
    return { sequence, part: parts.length - 1 };
  };
  const files = ['source.m3u8', 'r1.m3u8', 'r2.m3u8'];
  const hold = [false, true, false];
  for (const isHeld of hold) {
    maker.isHeld = isHeld;
    maker.wake();
    await goOn(0.7);
    for (const file of files) {
      const { reports } = await now(file);
      expect([...reports.keys()]).toEqual(files.filter((other) => other !== file));
      for (const [other, report] of reports) expect(report).toEqual(await last(other));
    }
  }
});

test('viewers of a source with renditions are further behind, by as much as those may be', async () => {
  const { maker, now, goOn } = await running();
  expect((await now('source.m3u8')).holdBack).toBeCloseTo(3 * 0.35 + 2, 5);
  expect((await now('r1.m3u8')).holdBack).toBeCloseTo(3 * 0.35, 5);
  // They cannot be made, and nothing of them is there.
  maker.isHeld = true;
  maker.isWilling = false;
  maker.kill();
  await goOn(24);
  maker.ladder.suspend();
  expect((await now('source.m3u8')).holdBack).toBeCloseTo(3 * 0.35, 5);
});

test('blocking reload and hinted parts of a rendition', async () => {
  const { ask, now, goOn, feed, maker } = await running(8.2);
  const { open, hint } = await now('r1.m3u8');
  maker.isHeld = true;
  const reload = ask('r1.m3u8', `_HLS_msn=${open.sequence}&_HLS_part=${open.parts.length}`);
  const hinted = ask(hint ?? '');
  const source = ask('source.m3u8', `_HLS_msn=${open.sequence}&_HLS_part=${open.parts.length}`);
  await goOn(0.7);
  expect((await source).status).toBe(200);
  expect([await isSettled(reload), await isSettled(hinted)]).toEqual([false, false]);
  expect(feed.output.waiting).toBe(2);
  maker.isHeld = false;
  maker.wake();
  expect([(await reload).status, (await hinted).status]).toEqual([200, 200]);
  const asked = { msn: open.sequence, part: open.parts.length };
  expect(answersReload(parsePlaylist(await (await reload).text()), asked)).toBe(true);
  expect((await hinted).headers.get('Cache-Control')).toBe('public, max-age=3600, immutable');
  expect((await ask('r1.m3u8', `_HLS_msn=${open.sequence + 9}`)).status).toBe(400);
  expect((await ask('r1.m3u8', '_HLS_part=1')).status).toBe(400);
});

test('as many requests wait as may, whatever they wait for', async () => {
  const { ask, now } = await running(8.2, { config: { waiterLimit: 2 } });
  const { open } = await now('source.m3u8');
  const waiting = [
    ask('source.m3u8', `_HLS_msn=${open.sequence}`),
    ask('r1.m3u8', `_HLS_msn=${open.sequence}`),
  ];
  expect((await ask('r2.m3u8', `_HLS_msn=${open.sequence}`)).status).toBe(503);
  expect(await isSettled(Promise.race(waiting))).toBe(false);
});

test('names have one way of writing', async () => {
  const { status, now } = await running();
  const { segments } = await now('r1.m3u8');
  const { uri, map } = segments[1];
  expect(uri).toMatch(/^[0-9a-f]{12}_r1_seg\d+\.mp4$/);
  expect([await status(uri), await status(map)]).toEqual([200, 200]);
  const prefix = uri.split('_')[0];
  const { sequence } = segments[1];
  for (const odd of [
    ...['r0.m3u8', 'r01.m3u8', 'r3.m3u8', 'r-1.m3u8', 'r1.m3u8x', 'r100.m3u8', 'R1.m3u8', 'r.m3u8'],
    `${prefix}_r0_seg${sequence}.mp4`,
    `${prefix}_r01_seg${sequence}.mp4`,
    `${prefix}_r3_seg${sequence}.mp4`,
    `${prefix}_r1_r1_seg${sequence}.mp4`,
    `${prefix}_r1seg${sequence}.mp4`,
    `${prefix}_r1_dvr1.mp4`,
    `${prefix}_r1_dvrinit0.mp4`,
    `${prefix}_r1_init7.mp4`,
  ])
    expect([odd, await status(odd)]).toEqual([odd, 404]);
});

test('too slow for the window: 404, also for who waits; then they come back with another segment', async () => {
  const { maker, goOn, ask, now, status, variants, renditions, source, look } = await running();
  const before = await now('r1.m3u8');
  const names = new Set(before.segments.map(({ uri }) => uri));
  maker.isHeld = true;
  await goOn(10.5);
  const waiting = [ask('r1.m3u8', `_HLS_msn=${before.open.sequence + 1}`), ask(before.hint ?? '')];
  expect(await isSettled(waiting[0])).toBe(false);
  await goOn(11);
  expect((await waiting[0]).status).toBe(404);
  expect((await waiting[1]).status).toBe(404);
  expect(await status('r1.m3u8')).toBe(404);
  expect(await status([...names][0])).toBe(404);
  expect(await variants()).toEqual(['source.m3u8']);
  expect(maker.ladder.lag).toBe(0);
  expect([...(await now('source.m3u8')).reports.keys()]).toEqual([]);
  maker.isHeld = false;
  maker.wake();
  await goOn(8, look);
  expect(maker.errors.map(String)).toEqual([expect.stringContaining('has left the live window')]);
  expect(await variants()).toHaveLength(3);
  const after = await now('r1.m3u8');
  expect(after.sequence).toBeGreaterThan(before.open.sequence);
  expect(after.discontinuitySequence).toBe(0);
  expect(after.segments[0].map).not.toBe(before.segments[0].map);
  expectAligned(renditions[0], source);
});

test('after a restart renditions begin with the gap of the source, and its discontinuity', async () => {
  const { feed, maker, source, renditions, attach, look } = broadcast();
  const { sink } = attach({ mediaSequence: 400, discontinuitySequence: 3, isReturn: true });
  sendHeaders(sink);
  await play(feed, sink, { seconds: 7, after: look });
  await look();
  expect(maker.errors).toEqual([]);
  const of = ({ segments }: typeof source) =>
    segments.map(({ sequence, isGap, discontinuities, duration, wall }) => ({
      ...{ sequence, isGap, discontinuities, duration, wall },
    }));
  expect(of(source)[0]).toMatchObject({ sequence: 400, isGap: true, discontinuities: 2 });
  for (const rendition of renditions) {
    const listed = of(rendition);
    expect(listed.length).toBeGreaterThan(2);
    expect(listed).toEqual(of(source).slice(0, listed.length));
    expect((await feed.output.serve(rendition.segments[0].uri)).status).toBe(404);
  }
  expect((await feed.text('index.m3u8')).match(/STREAM-INF/g)).toHaveLength(3);
});

test('who comes back with the same profiles: one playlist goes on, with the discontinuity of the source', async () => {
  const { feed, maker, source, renditions, attach, look } = broadcast();
  for (let turn = 0; turn < 4; turn += 1) {
    const { sink, grant } = attach({ mediaSequence: 1000 * turn, discontinuitySequence: 7 + turn });
    sendHeaders(sink);
    await play(feed, sink, { seconds: 5 + turn / 7, after: look });
    // Taken over, left, or killed in the middle of the end.
    if (turn === 1) maker.kill();
    if (turn % 2 === 0) {
      feed.output.detach(grant.token);
      await look();
      expect(parsePlaylist(await feed.text('r1.m3u8')).hint).toBeUndefined();
      feed.clock.advance(3000);
    }
  }
  await look();
  expect(maker.errors).toEqual([]);
  expect(maker.ladders).toHaveLength(1);
  for (const rendition of renditions) {
    expect(rendition.segments.map(({ sequence }) => sequence)).toEqual(
      source.segments.map(({ sequence }) => sequence),
    );
    expect(rendition.segments.at(-1)?.discontinuities).toBe(10);
    expectAligned(rendition, source);
  }
});

const others: [string, readonly RenditionProfile[]][] = [
  ['others', [profileOf('other')]],
  ['none', []],
];

test.each(others)('who comes back with %s: what there was is gone', async (_, profiles) => {
  const { feed, maker, attach, publisher, now, status, ask } = await running();
  const { segments, open } = await now('r1.m3u8');
  const waiting = ask('r1.m3u8', `_HLS_msn=${open.sequence + 1}`);
  feed.output.detach(publisher.grant.token);
  await settled();
  const { sink } = attach({ profiles });
  expect(maker.ends).toBe(1);
  expect((await waiting).status).toBe(404);
  expect(await status('r1.m3u8')).toBe(404);
  expect(await status(segments[2].uri)).toBe(404);
  sendHeaders(sink);
  await play(feed, sink, { seconds: 6, after: () => settled(1) });
  await settled();
  expect(await status('r2.m3u8')).toBe(404);
  expect(await status('r1.m3u8')).toBe(profiles.length === 0 ? 404 : 200);
  if (profiles.length === 0) return;
  const after = await now('r1.m3u8');
  const names = new Set(
    segments.flatMap(({ uri, map, parts }) => [uri, map, ...parts.map((part) => part.uri)]),
  );
  for (const { uri, map } of after.segments) expect([names.has(uri), names.has(map)]).toEqual([false, false]);
  expect(after.segments[0].discontinuities).toBe(1);
});

test('it is over: all is 404, memory is let go, and nobody makes anything', async () => {
  const { feed, maker, status, ask, now } = await running();
  const { open } = await now('r1.m3u8');
  const waiting = ask('r1.m3u8', `_HLS_msn=${open.sequence + 1}`);
  feed.output.end();
  expect((await waiting).status).toBe(404);
  for (const file of ['r1.m3u8', 'r2.m3u8', 'index.m3u8']) expect(await status(file)).toBe(404);
  await settled();
  expect([maker.ends, maker.errors, feed.output.bytes, feed.clock.timers]).toEqual([1, [], 0, 0]);
});

test('sound alone has no renditions; they come with the picture', async () => {
  const { feed, maker, attach, status } = { ...(await running(4)) };
  expect(await status('r1.m3u8')).toBe(200);
  const { sink } = attach();
  sendHeaders(sink, { video: new Uint8Array() });
  await play(feed, sink, { seconds: 6, video: false, after: () => settled(1) });
  await settled();
  expect(await status('r1.m3u8')).toBe(404);
  expect(await status('source.m3u8')).toBe(200);
  const third = attach();
  sendHeaders(third.sink);
  await play(feed, third.sink, { seconds: 6, after: () => settled(1) });
  await settled();
  expect(await status('r1.m3u8')).toBe(200);
  expect(maker.errors).toEqual([]);
});

test('without profiles nothing is begun, and the playlist says nothing of renditions', async () => {
  const { maker, now, status } = await running(4, { profiles: [] });
  expect(maker.ladders).toEqual([]);
  const playlist = await now('source.m3u8');
  expect([playlist.holdBack.toFixed(3), playlist.reports.size]).toEqual(['1.050', 0]);
  expect(await status('r1.m3u8')).toBe(404);
});

test('a maker that throws at the beginning costs the source nothing', async () => {
  const feed = new Feed({}, undefined, {
    begin: () => {
      throw new Error('no');
    },
  });
  const { sink, fatal } = feed.attach({ profiles: TWO });
  sendHeaders(sink);
  await play(feed, sink, { seconds: 4 });
  expect(fatal).toEqual([]);
  expect(parsePlaylist(await feed.text('source.m3u8')).holdBack.toFixed(3)).toBe('1.050');
  void feed.output.end();
});

test('another encoder in the middle: what is listed cannot be gone on with', async () => {
  const { maker, goOn, status, renditions, look, now } = await running(7.5);
  const before = await now('r1.m3u8');
  maker.change = { records: [TWO_RECORDS[1], TWO_RECORDS[0]] };
  maker.kill();
  await goOn(1);
  expect(maker.errors.map(String)).toContainEqual(expect.stringContaining('in another way'));
  await goOn(6, look);
  expect(await status('r1.m3u8')).toBe(200);
  const after = await now('r1.m3u8');
  const names = new Set(
    [...before.segments, before.open].flatMap(({ parts }) => parts.map(({ uri }) => uri)),
  );
  expect(after.segments.flatMap(({ parts }) => parts).some(({ uri }) => names.has(uri))).toBe(false);
  expect(renditions[0].segments.length).toBeGreaterThan(1);
});

test('a window without any key frame: a process cannot begin, and waits for one', async () => {
  const { feed, maker, attach } = broadcast();
  const status = async (file: string) => (await feed.output.serve(file)).status;
  const { sink } = attach();
  sendHeaders(sink, { audio: new Uint8Array() });
  const how = { audio: false, after: () => settled(1) };
  // The first alone is one; the next is in the last second.
  await play(feed, sink, { seconds: 150, gop: 0, ...how });
  expect(await status('r1.m3u8')).toBe(200);
  maker.kill();
  await settled();
  expect([await status('source.m3u8'), await status('r1.m3u8')]).toEqual([200, 404]);
  await play(feed, sink, { seconds: 26, from: 150_000, gop: 30, ...how });
  await settled();
  expect(await status('r1.m3u8')).toBe(200);
  expect(maker.errors).toEqual([]);
});
