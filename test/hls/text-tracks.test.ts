import { expect, test } from 'vitest';
import type { PublishedBroadcast, TextTrack } from '../../core/plugin/media.ts';
import { watched } from '../media/plugins/kit.ts';
import { answersReload, parsePlaylist } from './checker.ts';
import { AVC_240P, play, send, sendHeaders, videoHeader } from './feed.ts';
import { TextViewer } from './text-viewer.ts';
import { readWebVtt } from './web-vtt.ts';

const english = { name: 'English', language: 'en' };

/** A broadcast with one text track, which takes cues by the function that is handed back. */
function captioned(
  options: Parameters<typeof watched>[1] & { say?(track: TextTrack, time: number): void } = {},
) {
  const tracks: TextTrack[] = [];
  const broadcasts: PublishedBroadcast[] = [];
  const made = watched(
    {
      captions: (broadcast) => {
        const track = broadcast.textTrack(english);
        broadcasts.push(broadcast);
        tracks.push(track);
        return { part: (_, { time }) => options.say?.(track, time) };
      },
    },
    options,
  );
  return {
    ...made,
    tracks,
    broadcasts,
    cue: (start: number, end: number, text: string) => tracks.at(-1)?.cue({ start, end, text }),
  };
}

test('the multivariant playlist offers the track, and its playlist is that of the source', async () => {
  const { feed, cue } = captioned();
  const { sink } = feed.attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 1.2 });
  cue(36_700, 36_750.4, 'Hello <b>world</b> & all');
  await play(feed, sink, { seconds: 2.4, from: 1200 });
  const { prefix } = feed.output.broadcast.output;
  const multivariant = await feed.text('index.m3u8');
  expect(multivariant.split('\n').filter((line) => !line.startsWith('#EXT-X-STREAM-INF'))).toEqual([
    ...['#EXTM3U', '#EXT-X-VERSION:9'],
    '#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="text",NAME="English",LANGUAGE="en",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO,URI="t1.m3u8"',
    ...['source.m3u8', ''],
  ]);
  expect(multivariant).toMatch(/^#EXT-X-STREAM-INF:.*,SUBTITLES="text"$/m);
  const source = await feed.text('source.m3u8');
  const text = await feed.text('t1.m3u8');
  const expected = source
    .replace(/^#EXT-X-MAP:.*\n/gm, '')
    .replace(/\.mp4/g, '.vtt')
    .replaceAll(`${prefix}_`, `${prefix}_t1_`)
    .replace(/^(#EXT-X-PART:.*"[^,]*)(,INDEPENDENT=YES)?$/gm, '$1,INDEPENDENT=YES')
    .replace(/^#EXT-X-RENDITION-REPORT:URI="t1.m3u8"/m, '#EXT-X-RENDITION-REPORT:URI="source.m3u8"');
  expect(text).toBe(expected);
  expect(source).toMatch(/^#EXT-X-RENDITION-REPORT:URI="t1.m3u8",LAST-MSN=\d+,LAST-PART=\d+$/m);
  const { segments, open } = parsePlaylist(text, { isText: true });
  const uris = [...segments, open].flatMap(({ parts }) => parts.map(({ uri }) => uri));
  const files = await Promise.all(uris.map((uri) => feed.text(uri)));
  expect([...new Set(files)].toSorted()).toEqual([
    'WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:0\n\n',
    'WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:0\n\n00:00:36.700 --> 00:00:36.750\nHello &lt;b&gt;world&lt;/b&gt; &amp; all\n\n',
  ]);
});

test('every part and segment keeps the rules, over a change of settings, a return and a long window', async () => {
  const said: string[] = [];
  let turn = 0;
  const { feed } = captioned({
    config: { window: 60 },
    say(track, time) {
      turn += 1;
      const lengths = [700, 5000, 120];
      const text = `cue ${turn}`;
      // In time, ahead and late.
      const start = time + [0, 3000, -1500][turn % 3];
      if (track.cue({ start, end: start + lengths[turn % 3], text })) said.push(text);
    },
  });
  const first = feed.attach();
  const viewer = new TextViewer(feed);
  sendHeaders(first.sink);
  const after = () => viewer.look();
  await play(feed, first.sink, { seconds: 20, after });
  send(first.sink, 9, 20_000, videoHeader(AVC_240P));
  await play(feed, first.sink, { seconds: 12, from: 20_000, after });
  feed.output.detach(first.grant.token);
  await viewer.look();
  feed.clock.advance(5000);
  const second = feed.attach();
  sendHeaders(second.sink);
  await play(feed, second.sink, { seconds: 60, after });
  feed.output.detach(second.grant.token);
  await viewer.look();
  const seen = new Set(viewer.cues.map(({ text }) => text));
  // The last of a publish may be ahead of its end.
  expect(said.filter((text) => !seen.has(text)).length).toBeLessThan(12);
  expect(said.length).toBeGreaterThan(200);
  expect(viewer.checker.segments.size).toBeGreaterThan(40);
  expect(
    new Set([...viewer.checker.segments.values()].map(({ discontinuities }) => discontinuities)).size,
  ).toBe(3);
});

test('a cue is in the parts that it overlaps, and one that is late in the part that comes next', async () => {
  const { feed, cue } = captioned();
  const { sink } = feed.attach();
  const viewer = new TextViewer(feed);
  sendHeaders(sink);
  await play(feed, sink, { seconds: 6, after: () => viewer.look() });
  const { end } = feed.output.broadcast.output.window;
  expect(cue(end + 200, end + 900, 'ahead')).toBe(true);
  expect(cue(end - 3000, end - 2500, 'late')).toBe(true);
  await play(feed, sink, { seconds: 4, from: 6000, after: () => viewer.look() });
  const { segments } = viewer.checker;
  const holding = (text: string) =>
    [...segments.values()]
      .flatMap(({ parts }) => parts)
      .filter(({ uri }) => viewer.files.get(uri)?.some((one) => one.text === text)).length;
  expect([holding('ahead'), holding('late')]).toEqual([3, 1]);
  expect(viewer.cues).toEqual(
    expect.arrayContaining([
      { start: Math.round(end + 200), end: Math.round(end + 900), text: 'ahead' },
      { start: Math.round(end - 3000), end: Math.round(end - 2500), text: 'late' },
    ]),
  );
});

test('blocking reload, hints and delta updates are those of the source', async () => {
  const { feed } = captioned({ config: { window: 40 } });
  const { sink, grant } = feed.attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 45 });
  const parse = (text: string) => parsePlaylist(text, { isText: true });
  const now = parse(await feed.text('t1.m3u8'));
  const { sequence: msn, parts } = now.open;
  const asked = { msn, part: parts.length };
  let isAnswered = false;
  const reload = feed.text('t1.m3u8', `_HLS_msn=${msn}&_HLS_part=${parts.length}`).then((text) => {
    isAnswered = true;
    return text;
  });
  const hinted = feed.text(now.hint as string);
  const segment = feed.text('t1.m3u8', `_HLS_msn=${msn}&_HLS_skip=YES`);
  await new Promise((resolve) => setImmediate(resolve));
  expect(isAnswered).toBe(false);
  expect(feed.output.waiting).toBe(3);
  await play(feed, sink, { seconds: 3, from: 45_000 });
  expect(answersReload(parse(await reload), asked)).toBe(true);
  expect(readWebVtt(await hinted)).toEqual([]);
  expect(await segment).toContain('#EXT-X-SKIP:');
  for (const [query, status] of [
    [`_HLS_msn=${msn + 50}`, 400],
    ['_HLS_part=1', 400],
    ['_HLS_msn=x', 400],
    ['_HLS_msn=0', 200],
  ] as const)
    expect([query, (await feed.output.serve('t1.m3u8', new URLSearchParams(query))).status]).toEqual([
      query,
      status,
    ]);
  const last = parse(await feed.text('t1.m3u8')).open;
  const waiting = feed.output.serve('t1.m3u8', new URLSearchParams(`_HLS_msn=${last.sequence + 1}`));
  feed.output.end();
  expect((await waiting).status).toBe(404);
  expect((await feed.output.serve('t1.m3u8')).status).toBe(404);
  expect(grant.token).toBe('t1');
});

test('an encoder that comes back finds its track; one that is not asked for again is not offered any more', async () => {
  let isWanted = true;
  const { feed } = watched({
    captions: (broadcast) => {
      if (isWanted) broadcast.textTrack(english);
      return { end: () => {} };
    },
  });
  const isOffered = async () => (await feed.text('index.m3u8')).includes('URI="t1.m3u8"');
  const publish = async () => {
    const { sink, grant } = feed.attach();
    sendHeaders(sink);
    await play(feed, sink, { seconds: 4 });
    return grant;
  };
  const first = await publish();
  feed.output.detach(first.token);
  expect(await isOffered()).toBe(true);
  const second = await publish();
  expect(await isOffered()).toBe(true);
  expect(feed.output.broadcast.output.texts).toHaveLength(1);
  feed.output.detach(second.token);
  isWanted = false;
  await publish();
  expect(await isOffered()).toBe(false);
  // Players that came before go on with it.
  expect((await feed.output.serve('t1.m3u8')).status).toBe(200);
});

test('a track that is closed is not offered, and takes nothing; it can be opened again', async () => {
  const { feed, tracks, broadcasts, cue } = captioned();
  const { sink } = feed.attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 3 });
  expect(cue(36_000, 37_000, 'one')).toBe(true);
  tracks[0].close();
  expect(cue(36_000, 37_000, 'two')).toBe(false);
  expect(await feed.text('index.m3u8')).not.toContain('SUBTITLES');
  const again = broadcasts[0].textTrack({ ...english, isDefault: true });
  expect(again.cue({ start: 36_000, end: 37_000, text: 'three' })).toBe(true);
  expect(await feed.text('index.m3u8')).toContain('DEFAULT=YES,AUTOSELECT=YES,FORCED=NO,URI="t1.m3u8"');
});

test('players choose one of each language by themselves, and one track is the default', async () => {
  const { feed } = watched({
    captions: (broadcast) => {
      broadcast.textTrack({ name: 'English', language: 'EN' });
      broadcast.textTrack({ name: 'English for the deaf', language: 'en', isDefault: true });
      broadcast.textTrack({ name: 'Português, Brasil', language: 'pt-br' });
      broadcast.textTrack({ name: 'Another', language: 'pt-BR', isDefault: true });
      return undefined;
    },
  });
  const { sink } = feed.attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 3 });
  const lines = (await feed.text('index.m3u8')).split('\n').filter((line) => line.startsWith('#EXT-X-MEDIA'));
  expect(lines.map((line) => line.replace(/^.*NAME=/, ''))).toEqual([
    '"English",LANGUAGE="en",DEFAULT=NO,AUTOSELECT=NO,FORCED=NO,URI="t1.m3u8"',
    '"English for the deaf",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,FORCED=NO,URI="t2.m3u8"',
    '"Português, Brasil",LANGUAGE="pt-BR",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO,URI="t3.m3u8"',
    '"Another",LANGUAGE="pt-BR",DEFAULT=NO,AUTOSELECT=NO,FORCED=NO,URI="t4.m3u8"',
  ]);
});

test('names and languages that would break a playlist are refused, and a ninth track', async () => {
  const { feed, broadcasts } = captioned();
  feed.attach();
  const [broadcast] = broadcasts;
  const refuses = (options: { name: unknown; language: unknown }) =>
    expect(() => broadcast.textTrack(options as never)).toThrow(RangeError);
  for (const name of ['', 'a"b', 'a\nb', 'a\u0000', 'a\u2028b', 'x'.repeat(65), '\ud800', 5, undefined])
    refuses({ name, language: 'en' });
  for (const language of ['', 'x', 'en_US', 'en"', 'en-', 'e n', `en-${'abcde-'.repeat(9)}x`, null])
    refuses({ name: 'Another', language });
  refuses(english);
  refuses({ name: 'English', language: 'fr' });
  for (let number = 2; number <= 8; number += 1) broadcast.textTrack({ name: `${number}`, language: 'en' });
  refuses({ name: '9', language: 'en' });
});

test('cues that would break the text are refused or written so that they do not', async () => {
  const { feed, cue } = captioned();
  const { sink } = feed.attach();
  const viewer = new TextViewer(feed);
  sendHeaders(sink);
  await play(feed, sink, { seconds: 3, after: () => viewer.look() });
  const { end } = feed.output.broadcast.output.window;
  const hostile = [
    'a --> b',
    '00:00:01.000 --> 00:00:02.000\nx',
    'one\n\n\ntwo',
    '\r\n\r\nX-TIMESTAMP-MAP=MPEGTS:9\r\n',
    'NOTE hidden\n\nSTYLE\n::cue { color: red }',
    '<script>alert(1)</script>',
    '&lt;',
    'nul \0 bell \u0007 half \ud83d',
    'Ünïcode 字幕 😀\u202e',
  ];
  for (const text of hostile) expect([text, cue(end + 10, end + 500, text)]).toEqual([text, true]);
  for (const [start, until, text] of [
    [end, end + 1, ''],
    [end, end + 1, ' \n\t\u0000'],
    [end, end + 1, 'x'.repeat(1025)],
    [end, end + 1, '字'.repeat(342)],
    [end, end, 'x'],
    [end + 1, end, 'x'],
    [Number.NaN, end, 'x'],
    [-1, end, 'x'],
    [end, Number.POSITIVE_INFINITY, 'x'],
    [end, end + 600_001, 'x'],
    [end + 600_001, end + 600_002, 'x'],
    [0, 9000, 'before all that is listed'],
    [`${end}`, end + 1, 'x'],
    [end, end + 1, 5],
  ] as const)
    expect([start, text, cue(start as number, until, text as string)]).toEqual([start, text, false]);
  await play(feed, sink, { seconds: 3, from: 3000, after: () => viewer.look() });
  expect(viewer.cues.map(({ text }) => text)).toEqual([
    ...['a --> b', '00:00:01.000 --> 00:00:02.000\nx', 'one\ntwo', 'X-TIMESTAMP-MAP=MPEGTS:9'],
    ...['NOTE hidden\nSTYLE\n::cue { color: red }', '<script>alert(1)</script>', '&lt;'],
    ...['nul   bell   half \ufffd', 'Ünïcode 字幕 😀\u202e'],
  ]);
});

test('a track keeps 200 cues, and takes more as they leave the window', async () => {
  const { feed, cue } = captioned();
  const { sink } = feed.attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 3 });
  const flood = () => {
    const { end } = feed.output.broadcast.output.window;
    let taken = 0;
    while (taken < 1000 && cue(end + 10, end + 300, `${taken}`)) taken += 1;
    return taken;
  };
  expect([flood(), flood()]).toEqual([200, 0]);
  await play(feed, sink, { seconds: 10, from: 3000 });
  expect(flood()).toBe(0);
  await play(feed, sink, { seconds: 20, from: 13_000 });
  expect(flood()).toBe(200);
});

test('a track that is added in the middle of a broadcast has empty files for what was before', async () => {
  let given: PublishedBroadcast | undefined;
  const { feed } = watched({
    one: (broadcast) => {
      given = broadcast;
      return { part: () => {} };
    },
  });
  const { sink } = feed.attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 7.5 });
  const track = given?.textTrack(english);
  const viewer = new TextViewer(feed);
  await viewer.look();
  expect(viewer.cues).toEqual([]);
  const { end } = feed.output.broadcast.output.window;
  track?.cue({ start: end - 500, end: end + 2500, text: 'now' });
  await play(feed, sink, { seconds: 4, from: 7500, after: () => viewer.look() });
  expect(viewer.cues).toEqual([{ start: Math.round(end - 500), end: Math.round(end + 2500), text: 'now' }]);
});

test('other names below the playlist are not there', async () => {
  const { feed } = captioned();
  const { sink } = feed.attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 5 });
  const { prefix, window } = feed.output.broadcast.output;
  const { sequence } = window.listed[0];
  const there = `${prefix}_t1_seg${sequence}.vtt`;
  expect((await feed.output.serve(there)).status).toBe(200);
  for (const name of [
    ...['t0.m3u8', 't2.m3u8', 't01.m3u8', 't10.m3u8', 't.m3u8', 'T1.m3u8'],
    ...[
      `${prefix}_t2_seg${sequence}.vtt`,
      `${prefix}_t1_seg0${sequence}.vtt`,
      `${prefix}_t1_seg${sequence}.mp4`,
    ],
    ...[`${prefix}_t1_init0.vtt`, `${prefix}_seg${sequence}.vtt`, `${prefix}_t1_part${sequence}.99.vtt`],
    ...[`${prefix}_t1_seg${window.nextSequence}.vtt`, `${prefix}_t1_seg${sequence - 1}.vtt`],
    `x${there.slice(1)}`,
  ])
    expect([name, (await feed.output.serve(name)).status]).toEqual([name, 404]);
});
