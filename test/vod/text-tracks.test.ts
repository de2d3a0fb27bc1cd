import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { definePlugin, type Plugin } from '../../core/plugin/plugin.ts';
import { offer } from '../../core/plugin/token.ts';
import { writeSegmentIndex } from '../../core/vod/segment-index.ts';
import {
  type FilmIdentity,
  type FilmTextTrack,
  type TextTracksOf,
  textTracks,
} from '../../core/vod/text-tracks.ts';
import { assetIdOf } from '../../plugins/recordings/recording.ts';
import { parsePlaylist } from '../hls/checker.ts';
import { parseSegmentPlaylist } from '../hls/event-checker.ts';
import { Feed, play, sendHeaders } from '../hls/feed.ts';
import { readWebVtt } from '../hls/web-vtt.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { assetMaker } from '../kit/asset-maker.ts';
import { type World, world } from '../kit/world.ts';
import { avc } from './film.ts';
import { asking } from './watched-film.ts';

const shipped = await allPlugins();
const sessionId = '1f6f0a52-6d6b-4a0c-9a3e-0d6f3ab7c2e1';
const assetId = assetIdOf(sessionId);
const vtt = 'WEBVTT\n\n00:00.500 --> 00:01.500\nHello\n\n';
const english: FilmTextTrack = { id: 'en', name: 'English', language: 'en', vtt: async () => vtt };

/** A recording whose first sample is decoded at 35 s, in the whole program, and a plugin with these tracks of it. */
async function given(...sources: TextTracksOf[]) {
  const maker = assetMaker();
  const offering = definePlugin({
    ...{ id: 'subtitles', summary: 'subtitles of films' },
    offers: sources.map((source) => offer(textTracks, () => source)),
  }) as unknown as Plugin;
  const w = await world({ plugins: [...shipped, maker.plugin, offering] });
  const account = (await w.given.stream()).userId as string;
  await maker.assets.begin({ id: assetId, account, name: 'Film', source: { type: 'recording', sessionId } });
  await maker.assets.ready(assetId, await storeRecording(w));
  await w.settle();
  const { playbackId } = (await w.request('GET', `/api/asset/${assetId}`)).body;
  const base = 'http://localhost:8080';
  return {
    ...{ w, account, playbackId },
    ofAsset: asking(w, `${base}/asset/${playbackId}`),
    ofRecording: asking(w, `${base}/recordings/${sessionId}`),
    troubles: () => w.lines.filter((line) => line.includes('text track')).map((line) => JSON.parse(line)),
  };
}

/** What our packager makes of six seconds, as a recording. */
async function storeRecording({ blobs }: World) {
  const feed = new Feed();
  const { sink } = feed.attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 6.5 });
  const { segments } = parsePlaylist(await feed.text('source.m3u8'));
  const files = await Promise.all(
    [segments[0].map, ...segments.map(({ uri }) => uri)].map((uri) => feed.bytes(uri)),
  );
  const places = files.map((bytes, index) => ({
    at: files.slice(0, index).reduce((sum, { length }) => sum + length, 0),
    size: bytes.length,
  }));
  const index = writeSegmentIndex({
    inits: [{ ...places[0], ...avc }],
    bandwidth: { average: 1, peak: 1 },
    segments: segments.map(({ duration, wall }, number) => ({
      ...places[number + 1],
      ...{ duration, wallStart: wall ?? 0, init: 0, isDiscontinuity: number === 0 },
    })),
  });
  const video = Buffer.concat(files);
  await blobs.put(`assets/${assetId}/video.mp4`, video);
  await blobs.put(`assets/${assetId}/index.bin`, index);
  return {
    video: {
      ...{ key: `assets/${assetId}/video.mp4`, size: video.length, md5: 'x' },
      sha256: createHash('sha256').update(video).digest('hex'),
    },
    index: { key: `assets/${assetId}/index.bin`, size: index.length },
    spec: { format: 'mp4', duration: 6, bitrate: 800, tracks: [] },
  };
}

it('shows the tracks of a plugin at both URLs of a recording', async () => {
  const asked: FilmIdentity[] = [];
  const { w, account, playbackId, ofAsset, ofRecording } = await given((film) => {
    asked.push(film);
    return [
      english,
      { id: 'de', name: 'Deutsch', language: 'de', isDefault: true, vtt: { blob: 'subtitles/de.vtt' } },
    ];
  });
  await using _ = w;
  await w.blobs.put('subtitles/de.vtt', Buffer.from(vtt.replace('Hello', 'Hallo')));
  for (const ask of [ofAsset, ofRecording]) {
    const multivariant = (await ask('index.m3u8')).bytes.toString();
    expect(multivariant.split('\n').filter((line) => !line.startsWith('#EXT-X-STREAM-INF'))).toEqual([
      ...['#EXTM3U', '#EXT-X-VERSION:7'],
      '#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="text",NAME="English",LANGUAGE="en",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO,URI="text_en.m3u8"',
      '#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="text",NAME="Deutsch",LANGUAGE="de",DEFAULT=YES,AUTOSELECT=YES,FORCED=NO,URI="text_de.m3u8"',
      ...['source.m3u8', ''],
    ]);
    expect(multivariant).toMatch(/^#EXT-X-STREAM-INF:.*,SUBTITLES="text"$/m);

    const { segments } = parseSegmentPlaylist((await ask('source.m3u8')).bytes.toString());
    const duration = segments.reduce((sum, segment) => sum + segment.duration, 0);
    const playlist = await ask('text_de.m3u8');
    expect(playlist.headers.get('content-type')).toBe('application/vnd.apple.mpegurl');
    expect(playlist.bytes.toString()).toBe(
      `#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:${Math.round(duration)}\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:${duration.toFixed(5)},\ntext_de.vtt\n#EXT-X-ENDLIST\n`,
    );

    const text = await ask('text_de.vtt');
    expect(text.headers.get('content-type')).toBe('text/vtt; charset=utf-8');
    expect(text.headers.get('access-control-allow-origin')).toBe('*');
    // The film begins at 35 s of its own time.
    expect(text.bytes.toString()).toBe(
      `WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:${35_000 * 90}\n\n00:00.500 --> 00:01.500\nHallo\n\n`,
    );
    expect(readWebVtt(text.bytes.toString().replace(/^00:00\.500 --> /m, '00:00:00.500 --> 00:'))).toEqual([
      { start: 35_500, end: 36_500, text: 'Hallo' },
    ]);
  }
  const film = { assetId, account, playbackId, sessionId };
  expect(new Set(asked.map((one) => JSON.stringify(one)))).toEqual(new Set([JSON.stringify(film)]));
});

it('has other tags when tracks or texts change, and answers those who have them with 304', async () => {
  let tracks: FilmTextTrack[] = [];
  let text = vtt;
  const { w, ofAsset } = await given(() => tracks);
  await using _ = w;
  const tagOf = async (name: string) => (await ofAsset(name)).headers.get('etag') as string;
  const plain = await tagOf('index.m3u8');
  expect((await ofAsset('text_en.m3u8')).code).toBe('asset.no_file');
  tracks = [{ ...english, vtt: async () => text }];
  const offered = await tagOf('index.m3u8');
  tracks = [{ ...tracks[0], name: 'English (US)' }];
  const renamed = await tagOf('index.m3u8');
  expect(new Set([plain, offered, renamed]).size).toBe(3);
  const before = await tagOf('text_en.vtt');
  for (const [name, tag] of [
    ['index.m3u8', renamed],
    ['text_en.m3u8', await tagOf('text_en.m3u8')],
    ['text_en.vtt', before],
  ]) {
    const again = await ofAsset(name, { headers: { 'if-none-match': tag } });
    expect([name, again.status, again.bytes.length, again.headers.get('cache-control')]).toEqual([
      ...[name, 304, 0, 'public, max-age=60'],
    ]);
    const head = await ofAsset(name, { method: 'HEAD' });
    expect([name, head.status, head.headers.get('etag')]).toEqual([name, 200, tag]);
  }
  text = vtt.replace('Hello', 'Good evening');
  await w.advance('11s');
  expect(await tagOf('text_en.vtt')).not.toBe(before);
  tracks = [];
  expect(await tagOf('index.m3u8')).toBe(plain);
  expect((await ofAsset('text_en.vtt')).code).toBe('asset.no_file');
});

it('plays the film whatever a plugin answers, and says what is wrong', async () => {
  let answer = (): unknown => [];
  const { w, ofAsset, troubles } = await given(
    () => answer() as FilmTextTrack[],
    () => [english],
  );
  await using _ = w;
  const wrong: [unknown, RegExp][] = [
    [Promise.withResolvers<never>().promise, /no answer within 2000 ms/],
    [5, /./],
    [undefined, /./],
    [[null], /./],
    [[{ ...english, id: 'EN' }], /the id of a text track/],
    [[{ ...english, id: '../x' }], /the id of a text track/],
    [[{ ...english, name: 'a"b' }], /the name of a text track/],
    [[{ ...english, name: 'One', language: 'x' }], /the language of a text track/],
    [[{ id: 'one', name: 'One', language: 'en' }], /the key of a blob, or a function/],
  ];
  const failing = (error: Error) => () => {
    throw error;
  };
  const cases: [() => unknown, RegExp][] = [
    [failing(new Error('a defect')), /a defect/],
    [() => Promise.reject(new Error('another defect')), /another defect/],
    ...wrong.map(([value, message]): [() => unknown, RegExp] => [() => value, message]),
  ];
  for (const [given, message] of cases) {
    answer = given;
    const count = troubles().length;
    const asked = ofAsset('index.m3u8');
    await w.advance('2s');
    const { status, bytes } = await asked;
    expect([status, bytes.toString().match(/URI="text_en.m3u8"/g)?.length]).toEqual([200, 1]);
    expect(troubles().slice(count)).toEqual([
      expect.objectContaining({ level: 'warn', assetId, error: expect.stringMatching(message) }),
    ]);
    await w.advance('1m');
  }
  // Two plugins with one id: the first counts. It is said once a minute.
  answer = () => [{ ...english, name: 'First' }];
  for (let turn = 0; turn < 3; turn += 1)
    expect((await ofAsset('index.m3u8')).bytes.toString()).toContain('NAME="First"');
  expect(troubles().filter(({ error }) => /already/.test(error))).toHaveLength(1);
});

it('gives up a text that never comes, and keeps no memory for it', async () => {
  const never = Promise.withResolvers<string>().promise;
  const tracks = Array.from({ length: 9 }, (_, index) => ({
    ...{ id: `t${index}`, name: `T${index}`, language: 'en', vtt: () => never },
  }));
  const { w, ofAsset, troubles } = await given(() => [...tracks, english]);
  await using _ = w;
  const asked = tracks.map(({ id }) => ofAsset(`text_${id}.vtt`));
  await w.advance('10s');
  expect((await Promise.all(asked)).map(({ status }) => status).sort()).toEqual([...Array(8).fill(404), 503]);
  expect(troubles()).toEqual([
    expect.objectContaining({ error: expect.stringContaining('no text within 10000 ms') }),
  ]);
  expect((await ofAsset('text_en.vtt')).status).toBe(200);
});

it('serves no text that is none, or too large', async () => {
  let text: unknown = '';
  const { w, ofAsset, troubles } = await given(() => [
    { ...english, vtt: async () => text as string },
    { id: 'gone', name: 'Gone', language: 'en', vtt: { blob: 'subtitles/gone.vtt' } },
    { id: 'large', name: 'Large', language: 'en', vtt: { blob: 'subtitles/large.vtt' } },
  ]);
  await using _ = w;
  await w.blobs.put('subtitles/large.vtt', Buffer.from(`WEBVTT\n\n${'x'.repeat(2 * 1_048_576)}`));
  const next = async () => {
    await w.advance('61s');
    const { code, bytes } = await ofAsset('text_en.vtt');
    return code ?? bytes.toString();
  };
  for (text of ['', 'hello', 'WEBVTTx\n', `WEBVTT\n\n${'字'.repeat(700_000)}`, 5, undefined]) {
    expect(await next()).toBe('asset.no_file');
    expect(troubles().at(-1)).toMatchObject({ message: 'a text track of a film could not be read' });
  }
  for (const id of ['gone', 'large', 'none'])
    expect((await ofAsset(`text_${id}.vtt`)).code).toBe('asset.no_file');
  const map = `X-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:${35_000 * 90}`;
  for (const [given, expected] of [
    ['WEBVTT', `WEBVTT\n${map}\n`],
    ['\ufeffWEBVTT - a title\r\n\r\nx', `WEBVTT - a title\n${map}\n\r\nx`],
    ['WEBVTT\nKind: captions\n\nx', `WEBVTT\n${map}\nKind: captions\n\nx`],
    ['WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:7,LOCAL:00:00:00.000\n\nx', undefined],
    ['WEBVTT\n\nX-TIMESTAMP-MAP=MPEGTS:7', `WEBVTT\n${map}\n\nX-TIMESTAMP-MAP=MPEGTS:7`],
  ]) {
    text = given;
    expect(await next()).toBe(expected ?? given);
  }
});

it('offers 16 tracks of a film at most', async () => {
  const all = Array.from({ length: 20 }, (_, n) => ({ ...english, id: `t${n}`, name: `Track ${n}` }));
  const { w, ofAsset } = await given(() => all);
  await using _ = w;
  expect((await ofAsset('index.m3u8')).bytes.toString().match(/TYPE=SUBTITLES/g)).toHaveLength(16);
});
