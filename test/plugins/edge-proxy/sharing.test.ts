import { describe, expect, it } from 'vitest';
import { viewersHeader } from '../../../plugins/streams/edge/node-routes.ts';
import { maxAnswerBytes, mediaKept, playlistKept } from '../../../plugins/streams/edge/proxy.ts';
import { reportSlice } from '../../../plugins/streams/viewer.ts';
import { type Asked, part, playbackId, playlist, stations } from './kit.ts';

const given = stations();

describe('playback of what another node has', () => {
  it('asks once for a thousand viewers, and each gets the whole answer', async () => {
    const s = given();
    const all = Array.from({ length: 1000 }, () => s.view(playlist, { query: '_HLS_msn=9&_HLS_part=1' }));
    await s.settle();
    expect(s.asked.map(({ node, path }) => [node, path])).toEqual([
      ['a', `/internal/hls/${playbackId}/source.m3u8?_HLS_msn=9&_HLS_part=1`],
    ]);
    expect(s.place.reads).toBe(1);
    s.asked[0].answer('#EXTM3U', { headers: { 'cache-control': 'public, max-age=1', 'x-inner': 'no' } });
    const answers = await Promise.all(all);
    expect(answers.every(({ status, text }) => status === 200 && text === '#EXTM3U')).toBe(true);
    expect(answers[0].headers.get('cache-control')).toBe('public, max-age=1');
    expect(answers[0].headers.get('content-type')).toBe('x/y');
    expect(answers[0].headers.has('x-inner')).toBe(false);
  });

  it('asks for what plugins make of a broadcast as for playlists, and for no other picture', async () => {
    const s = given();
    const all = [s.view('thumbnail.jpg', { query: 'x=1' }), s.view('thumbnail.jpg')];
    await s.settle();
    expect(s.asked.map(({ path }) => path)).toEqual([`/internal/hls/${playbackId}/thumbnail.jpg`]);
    s.asked[0].answer('jpeg', { headers: { etag: '"1"' } });
    for (const { text, headers } of await Promise.all(all))
      expect([text, headers.get('etag')]).toEqual(['jpeg', '"1"']);
    expect((await s.view('other.jpg')).text).toBe('playback.not_live');
    expect(s.asked.length).toBe(1);
    // That there is no picture is an answer: no other node has one.
    await s.clock.advance(playlistKept);
    const none = s.view('thumbnail.jpg');
    await s.settle();
    s.asked[1].answer('{"errors":["It has no video."],"code":"still.none"}', { status: 404 });
    expect((await none).text).toContain('It has no video.');
  });

  it('asks for text tracks as for media: their playlists are followed, their texts kept', async () => {
    const s = given();
    const text = 'abcdef012345_t1_part7.1.vtt';
    const reload = s.view('t1.m3u8', { query: '_HLS_msn=9&_HLS_part=1' });
    const first = s.view(text);
    await s.settle();
    expect(s.asked.map(({ path }) => path)).toEqual([
      `/internal/hls/${playbackId}/t1.m3u8?_HLS_msn=9&_HLS_part=1`,
      `/internal/hls/${playbackId}/${text}`,
    ]);
    s.asked[0].answer('#EXTM3U');
    s.asked[1].answer('WEBVTT', { headers: { 'content-type': 'text/vtt; charset=utf-8' } });
    expect([(await reload).text, (await first).text]).toEqual(['#EXTM3U', 'WEBVTT']);
    await s.clock.advance(mediaKept - 1);
    const again = await s.view(text);
    expect([again.text, again.headers.get('content-type')]).toEqual(['WEBVTT', 'text/vtt; charset=utf-8']);
    expect(s.asked).toHaveLength(2);
  });

  it('has another request for each reload, whatever else is in the query', async () => {
    const s = given();
    const queries = [
      '_HLS_msn=9&_HLS_part=1',
      'CMCD=x&_HLS_part=1&_HLS_msn=009',
      '_HLS_msn=9&_HLS_part=2',
      '_HLS_msn=9&_HLS_part=1&_HLS_skip=YES',
      'token=1',
      'token=2',
    ];
    const all = queries.map((query) => s.view(playlist, { query }));
    await s.settle();
    expect(s.asked.map(({ path }) => path.split('?')[1] ?? '')).toEqual([
      '_HLS_msn=9&_HLS_part=1',
      '_HLS_msn=9&_HLS_part=2',
      '_HLS_msn=9&_HLS_part=1&_HLS_skip=YES',
      '',
    ]);
    for (const one of s.asked) one.answer('x');
    await Promise.all(all);
  });

  it('asks for the playlist to seek in apart from the live one, and for neither twice', async () => {
    const s = given();
    const queries = ['', 'dvr=1', 'dvr=0', 'dvr=1&token=1'];
    const all = queries.map((query) => s.view('index.m3u8', { query }));
    const files = ['dvr.m3u8', 'dvr.m3u8'].map((file) => s.view(file, { query: 'dvr=1&_HLS_skip=YES' }));
    await s.settle();
    expect(s.asked.map(({ path }) => path.split('/').at(-1))).toEqual([
      'index.m3u8',
      'index.m3u8?dvr=1',
      'dvr.m3u8?_HLS_skip=YES',
    ]);
    for (const one of s.asked) one.answer(one.path);
    const answers = await Promise.all(all);
    expect(answers.map(({ text }) => text.endsWith('?dvr=1'))).toEqual([false, true, false, true]);
    await Promise.all(files);
  });

  it('does not wait for what will not come: a broadcast that is there and is not recorded', async () => {
    const s = given();
    const answer = s.view('index.m3u8', { query: 'dvr=1' });
    await s.settle();
    s.asked[0].answer('{"code":"playback.not_recorded"}', { status: 404 });
    expect(await answer).toMatchObject({ status: 404, text: '{"code":"playback.not_recorded"}' });
    expect(s.asked).toHaveLength(1);
  });

  it('keeps media, which never changes, and a playlist for a moment alone', async () => {
    const s = given();
    const ask = async (file: string) => {
      const before = s.asked.length;
      const answer = s.view(file);
      await s.settle();
      const isNew = s.asked.length > before;
      if (isNew) s.asked.at(-1)?.answer('body');
      expect((await answer).text).toBe('body');
      return isNew;
    };
    expect(await ask(part)).toBe(true);
    expect(await ask(playlist)).toBe(true);
    expect(await ask(playlist)).toBe(false);
    await s.clock.advance(playlistKept);
    expect(await ask(playlist)).toBe(true);
    expect(await ask(part)).toBe(false);
    await s.clock.advance(mediaKept);
    expect(await ask(part)).toBe(true);
  });

  it('holds no more bytes than it may: what was used longest ago is fetched again', async () => {
    const s = given({ relayMemory: 1 });
    const big = 'x'.repeat(400 * 1024);
    const ask = async (number: number) => {
      const before = s.asked.length;
      const answer = s.view(`abcdef012345_seg${number}.mp4`);
      await s.settle();
      const isNew = s.asked.length > before;
      if (isNew) s.asked.at(-1)?.answer(big);
      expect((await answer).status).toBe(200);
      expect(Number(/held_bytes (\d+)/.exec(s.metrics.text())?.[1])).toBeLessThanOrEqual(1_048_576);
      return isNew;
    };
    expect([await ask(1), await ask(2), await ask(1), await ask(3), await ask(1), await ask(2)]).toEqual([
      ...[true, true, false, true, false, true],
    ]);
    // Three at one time do not fit, and nothing kept can make room for what is being read.
    const three = [11, 12, 13].map((number) => s.view(`abcdef012345_seg${number}.mp4`));
    await s.settle();
    for (const one of s.asked.slice(-3)) one.answer(big);
    const statuses = (await Promise.all(three)).map(({ status }) => status).sort();
    expect(statuses).toEqual([200, 200, 503]);
    const huge = s.view('abcdef012345_seg99.mp4');
    await s.settle();
    s.asked.at(-1)?.answer('x', { headers: { 'content-length': String(maxAnswerBytes + 1) } });
    expect((await huge).status).toBe(503);
  });

  it('goes on for the others when a viewer leaves, and ends the request with the last', async () => {
    const s = given();
    const viewers = [new AbortController(), new AbortController()];
    const all = viewers.map(({ signal }) => s.view(part, { signal }));
    await s.settle();
    viewers[0].abort();
    await s.settle();
    expect(s.asked[0].options.signal.aborted).toBe(false);
    viewers[1].abort();
    await s.settle();
    expect(s.asked[0].options.signal.aborted).toBe(true);
    await Promise.all(all);
    // Who comes then gets nothing of what was given up.
    const next = s.view(part);
    await s.settle();
    expect(s.asked).toHaveLength(2);
    s.asked[1].answer('fresh');
    expect((await next).text).toBe('fresh');
    expect(s.metrics.text()).toContain('millrace_relay_waiting_viewers 0');
  });

  it('passes on what the other node says, but what is between the nodes', async () => {
    const s = given();
    const ask = async (status: number) => {
      const answer = s.view(playlist, { query: `_HLS_msn=${status}` });
      await s.settle();
      s.asked.at(-1)?.answer('said', { status, headers: { 'retry-after': '7' } });
      return answer;
    };
    expect(await ask(503)).toMatchObject({ status: 503, text: 'said' });
    expect((await ask(503)).headers.get('retry-after')).toBe('7');
    expect((await ask(400)).status).toBe(400);
    for (const status of [401, 403, 500]) {
      const answer = s.view(part);
      await s.settle();
      s.asked.at(-1)?.answer('secret', { status });
      expect(await answer).toMatchObject({ status: 503, text: 'node.unreachable' });
    }
    expect(s.lines.join()).toContain('refused');
  });

  it('tells of every viewer once in a while, however many share a request', async () => {
    const s = given();
    const told = (one: Asked) => one.options.headers?.[viewersHeader] ?? '';
    const id = (n: number) => String(n).padStart(8, '0');
    // While one request is under way, 1,200 more viewers come.
    const first = s.view(playlist, { viewer: id(0) });
    await s.settle();
    const others = Array.from({ length: 1200 }, (_, n) => s.view(playlist, { viewer: id(n + 1) }));
    await s.settle();
    expect(told(s.asked[0])).toBe(id(0));
    s.asked[0].answer('x');
    await Promise.all([first, ...others]);
    const next = async () => {
      await s.clock.advance(200);
      const answer = s.view(playlist, { viewer: id(5) });
      await s.settle();
      s.asked.at(-1)?.answer('x');
      await answer;
      return told(s.asked.at(-1) as Asked);
    };
    const more = [await next(), await next(), await next()];
    expect(more.map((text) => text.length / 8)).toEqual([1000, 200, 0]);
    expect(new Set(more.join('').match(/.{8}/g)).size).toBe(1200);
    await s.clock.advance(reportSlice);
    expect(await next()).toBe(id(5));
  });
});
