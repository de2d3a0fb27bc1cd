import { expect, test } from 'vitest';
import { readFragments } from '../../hls/boxes.ts';
import { parsePlaylist } from '../../hls/checker.ts';
import { AVC_240P, videoHeader } from '../../hls/feed.ts';
import { grant, sendHeaders, sendMedia, station, until } from '../kit.ts';

test('headers alone play nothing and leave nothing', async () => {
  await using s = await station();
  const encoder = await s.encoder();
  sendHeaders(encoder);
  await until('the headers', () => (s.media.figures('t1')?.bytes ?? 0) > 40);
  expect(s.serve('index.m3u8')).toBe(undefined);
  expect(s.serve('source.m3u8', { query: '_HLS_msn=1' })).toBe(undefined);
  await encoder.close({ clean: false });
  await until('the end', () => s.told().length === 1);
  expect(s.told()).toEqual(['closed t1']);
  s.media.retire('key');
  expect(s.serve('index.m3u8')).toBe(undefined);
});

test('who waits for a playlist is told when it comes, when time is up, and when they leave', async () => {
  await using s = await station();
  const idle = s.timers();
  const leaving = new AbortController();
  const wait = (timeout: number, signal = new AbortController().signal) =>
    s.media.appears('key', { timeout, signal });
  const [comes, late, gone] = [wait(5000), wait(50), wait(5000, leaving.signal)];
  const already = wait(5000, AbortSignal.abort());
  leaving.abort();
  expect(await Promise.all([gone, late, already])).toEqual([false, false, false]);
  const encoder = await s.encoder();
  sendHeaders(encoder);
  sendMedia(encoder, { seconds: 1 });
  expect(await comes).toBe(true);
  expect(await wait(5000)).toBe(true);
  expect(s.timers()).toBe(idle);
});

test('a target duration that grows is told at once: the next process must not go below it', async () => {
  await using s = await station();
  const encoder = await s.encoder();
  sendHeaders(encoder);
  sendMedia(encoder, { seconds: 14, gop: 180 });
  await until('a longer target', () =>
    s.facts.some(({ type, figures }) => type === 'progress' && figures.targetDuration === 6),
  );
  expect(s.told()).toEqual(['playable t1', 'progress t1', 'progress t1']);
});

test('a playlist that counted further than its grant: the next one goes on behind it', async () => {
  await using s = await station(async ({ key }) => ({
    ...grant({ token: crypto.randomUUID(), playbackId: key }),
  }));
  let last = { sequence: 0, discontinuities: 0 };
  let ends = 0;
  for (let turn = 0; turn < 3; turn += 1) {
    const encoder = await s.encoder();
    sendHeaders(encoder);
    // Faster than time, with a change of settings in it.
    sendMedia(encoder, { seconds: 9, gop: 15 });
    encoder.sendVideo(videoHeader(AVC_240P), 9000);
    sendMedia(encoder, { seconds: 4, from: 9000 });
    const token = () => s.facts.filter(({ type }) => type === 'playable')[turn]?.grant.token ?? '';
    await until('all of it', () => (s.media.figures(token())?.duration ?? 0) > 12.9);
    const { segments } = parsePlaylist((await s.playlist()) ?? '');
    expect(segments[0].sequence).toBeGreaterThan(last.sequence);
    if (turn > 0) expect(segments[0].discontinuities).toBeGreaterThan(last.discontinuities);
    const files = await Promise.all(segments.map(async ({ uri }) => (await s.serve(uri))?.bytes()));
    const pictures = files
      .flatMap((file) => readFragments(file as Uint8Array))
      .flatMap(({ runs }) => runs.filter(({ track }) => track === 1));
    // In ticks of decode time, those of a player that goes on from the former playlist.
    expect(pictures[0].start).toBeGreaterThan(ends);
    ends = pictures[pictures.length - 1].end;
    last = segments[segments.length - 1];
    await encoder.close({ clean: true });
    await until('the end', () => s.facts.at(-1)?.type === 'closed');
    s.media.retire('key');
  }
});

test('decode times go on where the former playlist ended, unless another process may have gone on with them', async () => {
  const minute = 240;
  // How often the stream was published before, and its age.
  const publishes = [
    { discontinuitySequence: 0, mediaSequence: 0 },
    // A grant before it came to nothing.
    { discontinuitySequence: 2, mediaSequence: minute },
    { discontinuitySequence: 4, mediaSequence: 2 * minute },
    { discontinuitySequence: 5, mediaSequence: 3 * minute },
  ];
  const given = publishes.values();
  await using s = await station(async ({ key }) => ({
    ...grant({ token: crypto.randomUUID(), playbackId: key }),
    ...given.next().value,
  }));
  /** Seconds on the timeline. */
  const spans: { start: number; end: number }[] = [];
  for (const [turn] of publishes.entries()) {
    const encoder = await s.encoder();
    sendHeaders(encoder);
    sendMedia(encoder, { seconds: 5 });
    await until('it plays', () => s.told().filter((what) => what.startsWith('playable')).length === turn + 1);
    await encoder.close({ clean: true });
    await until('the end', () => s.facts.at(-1)?.type === 'closed');
    const { segments } = parsePlaylist((await s.playlist()) ?? '');
    const files = await Promise.all(segments.map(async ({ uri }) => (await s.serve(uri))?.bytes()));
    const pictures = files
      .flatMap((file) => readFragments(file as Uint8Array))
      .flatMap(({ runs }) => runs.filter(({ track }) => track === 1));
    spans.push({ start: pictures[0].start / 90_000, end: (pictures.at(-1)?.end ?? 0) / 90_000 });
    // Held: the next one is of the same output. The others find that it was let go.
    if (turn !== 0) s.media.retire('key');
  }
  const [first, held, other, last] = spans;
  expect(first.start).toBe(10);
  // The former one's segments are listed before its own.
  expect(held).toEqual({ start: 10, end: expect.closeTo(first.end + 1 + 5, 1) });
  expect(other.start).toBe(130);
  expect(last.start - other.end).toBeCloseTo(1, 2);
});

test('viewers are who asks for a media playlist, plain or blocking, and readings tell of them', async () => {
  await using s = await station();
  const encoder = await s.encoder();
  sendHeaders(encoder);
  sendMedia(encoder, { seconds: 5 });
  await until('a playlist', () => s.told().includes('playable t1'));
  const ask = (file: string, viewer: string | undefined, query = '') =>
    s.media.serve({
      playbackId: 'key',
      file,
      query: new URLSearchParams(query),
      signal: new AbortController().signal,
      ...(viewer && { viewers: [viewer] }),
    });
  const watching = () => s.media.readings()[0].viewers;
  expect(watching()).toBe(0);
  await ask('index.m3u8', 'looks only');
  await ask('source.m3u8', undefined);
  expect(watching()).toBe(0);
  for (const viewer of ['a', 'b', 'a', 'b']) await ask('source.m3u8', viewer);
  await ask('source.m3u8', 'c', '_HLS_msn=1000&_HLS_part=0');
  await ask('source.m3u8', 'a', '_HLS_msn=1000&_HLS_part=0');
  await ask('none.m3u8', 'asks for what is not there');
  await ask('r1.m3u8', 'and for a rendition, of which there are none');
  expect(watching()).toBe(3);
  expect(s.media.totals().viewers).toBe(3);
  await until('all media', () => (s.media.figures('t1')?.duration ?? 0) > 4.9);
  expect(s.media.readings()).toMatchObject([
    { grant: { token: 't1' }, isPublishing: true, vitals: { frames: 150, keyFrames: 5 } },
  ]);
  await encoder.close({ clean: false });
  await until('the end', () => s.told().includes('closed t1'));
  expect(s.media.readings()).toMatchObject([
    { grant: { token: 't1' }, isPublishing: false, vitals: { frames: 150 }, viewers: 3 },
  ]);
  s.media.retire('key');
  expect(s.media.readings()).toEqual([]);
});
