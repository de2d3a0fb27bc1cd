import { afterEach, describe, expect, it } from 'vitest';
import { Fault } from '../../core/base/fault.ts';
import { jsonLog } from '../../core/base/log.ts';
import { Metrics } from '../../core/base/metrics.ts';
import type { NodeRequest } from '../../core/plugin/nodes.ts';
import type { StreamsKit } from '../../plugins/streams/config.ts';
import { viewersHeader } from '../../plugins/streams/edge/node-routes.ts';
import { believed } from '../../plugins/streams/edge/playlist-locations.ts';
import {
  edgeProxy,
  maxAnswerBytes,
  mediaKept,
  playlistKept,
  returnLook,
} from '../../plugins/streams/edge/proxy.ts';
import { reportSlice } from '../../plugins/streams/viewer.ts';
import { useOf } from '../kit/use.ts';
import { virtualClock } from '../kit/virtual-clock.ts';

const playbackId = '6pukxh2m0ydr9h3q';
const playlist = 'source.m3u8';
const part = 'abcdef012345_part7.1.mp4';

/** A request that a node got, held until the test answers it. */
interface Asked {
  readonly node: string;
  readonly path: string;
  readonly options: NodeRequest;
  answer(body: string, init?: ResponseInit): void;
  fail(error: Error): void;
}

/** The edge proxy of node `edge`, of which the test plays the other nodes, the store and the viewers. */
function station(options: { relayMemory?: number } = {}) {
  const clock = virtualClock({ start: Date.UTC(2026, 0, 1) });
  const asked: Asked[] = [];
  const lines: string[] = [];
  const stop = new AbortController();
  const place = { node: 'a' as string | undefined, isActive: true, fails: false, reads: 0 };
  const own = { has: false };
  const dead = new Set<string>();
  const media = {
    serve: () => (own.has ? new Response('own') : undefined),
    appears: async () => own.has,
  };
  const nodes = {
    own: { id: 'edge' },
    find: async (id: string) => ({ id, isAlive: !dead.has(id) }),
    request: (node: string, path: string, given: NodeRequest) =>
      new Promise<Response>((resolve, reject) => {
        given.signal.addEventListener('abort', () => reject(new Error('aborted')));
        asked.push({
          ...{ node, path, options: given },
          answer: (body, init = {}) => {
            const headers = {
              'content-type': 'x/y',
              'content-length': String(body.length),
              ...init.headers,
            };
            resolve(new Response(body, { ...init, headers }));
          },
          fail: reject,
        });
      }),
  };
  const kit = {
    clock,
    log: jsonLog({ level: 'debug', now: () => 0, write: (line) => lines.push(line) }),
    metrics: new Metrics(),
    signal: stop.signal,
    config: { relayMemory: options.relayMemory ?? 64 },
    // As plugins offer them.
    offered: () => [{ name: 'thumbnail.jpg' }],
    use: useOf({ media }),
    resources: {
      async find() {
        place.reads += 1;
        if (place.fails) throw new Fault('store.unknown', { status: 503, message: 'no answer' });
        const feeder = place.node === undefined ? null : { node: place.node, incarnation: 'i' };
        return { body: JSON.stringify({ feeder, isActive: place.isActive }) };
      },
    },
    deployment: { nodes },
  };
  const served = edgeProxy(kit as unknown as StreamsKit);
  const view = (file: string, given: { query?: string; viewer?: string; signal?: AbortSignal } = {}) => {
    const { signal = new AbortController().signal, viewer } = given;
    const query = new URLSearchParams(given.query ?? '');
    const viewers = viewer === undefined ? {} : { viewers: [viewer] };
    const request = { playbackId, file, query, signal, ...viewers };
    return served.serve(request).then(
      async (response) => ({
        status: response.status,
        text: await response.text(),
        headers: response.headers,
      }),
      (fault: Fault) => ({ status: fault.status, text: fault.code, headers: new Headers() }),
    );
  };
  const settle = () => clock.advance(0);
  return { clock, asked, lines, place, own, dead, kit, view, settle, metrics: kit.metrics, stop };
}

const unreachable = new Fault('node.unreachable', { status: 503, message: 'dead' });
let current: ReturnType<typeof station> | undefined;
const given = (options?: Parameters<typeof station>[0]) => {
  current = station(options);
  return current;
};
afterEach(() => {
  expect(current?.clock.pending()).toBe(0);
  current = undefined;
});

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

  it('follows a broadcast to the node that goes on with it', async () => {
    const s = given();
    const before = s.view(playlist);
    await s.settle();
    s.asked[0].answer('on a');
    await before;
    await s.clock.advance(500);
    s.place.node = 'b';
    const after = s.view(playlist);
    await s.settle();
    expect(s.asked[1].node).toBe('a');
    s.asked[1].answer('nothing', { status: 404 });
    await s.settle();
    expect(s.asked[2].node).toBe('b');
    s.asked[2].answer('on b');
    expect((await after).text).toBe('on b');
  });

  it('waits for a broadcast whose node died, at most 8 s, with one request at a time for all', async () => {
    const s = given();
    const all = Array.from({ length: 100 }, () => s.view(playlist));
    await s.settle();
    s.asked[0].fail(unreachable);
    await s.clock.advance(3000);
    expect(s.asked.length).toBeLessThan(20);
    s.place.node = 'b';
    for (const one of s.asked) one.fail(unreachable);
    await s.clock.advance(300);
    s.asked.at(-1)?.answer('back');
    expect((await Promise.all(all)).every(({ text }) => text === 'back')).toBe(true);

    s.place.node = undefined;
    await s.clock.advance(2000);
    const late = s.view(playlist, { query: '_HLS_msn=1' });
    await s.clock.advance(7900);
    let isOver = false;
    void late.then(() => {
      isOver = true;
    });
    await s.settle();
    expect(isOver).toBe(false);
    await s.clock.advance(500);
    expect(await late).toMatchObject({ status: 404, text: 'playback.not_live' });
  });

  it('goes on with what comes back on this node itself', async () => {
    const s = given();
    s.place.node = undefined;
    const waiting = s.view(playlist);
    await s.clock.advance(1000);
    s.own.has = true;
    await s.clock.advance(300);
    expect((await waiting).text).toBe('own');
  });

  it('waits for nothing that is over, and for no media of a node that is gone', async () => {
    const s = given();
    s.place.isActive = false;
    s.place.node = undefined;
    expect(await s.view(playlist)).toMatchObject({ status: 404, text: 'playback.not_live' });
    s.place.isActive = true;
    s.place.node = 'a';
    await s.clock.advance(believed);
    const media = s.view(part);
    await s.settle();
    s.asked.at(-1)?.fail(unreachable);
    expect(await media).toMatchObject({ status: 503, text: 'node.unreachable' });
    const gone = s.view(part);
    await s.settle();
    s.asked.at(-1)?.answer('', { status: 404 });
    expect(await gone).toMatchObject({ status: 404, text: 'playback.not_live' });
  });

  it('gives up a node that does not answer as soon as the broadcast is on another', async () => {
    const s = given();
    const waiting = s.view(playlist, { query: '_HLS_msn=9' });
    await s.settle();
    s.place.node = 'b';
    await s.clock.advance(2 * believed);
    expect(s.asked.map(({ node }) => node)).toEqual(['a', 'b']);
    s.asked.at(-1)?.answer('moved');
    expect((await waiting).text).toBe('moved');
  });

  it('gives up a node that does not answer as soon as it is dead', async () => {
    const s = given();
    const media = s.view(part);
    await s.clock.advance(5 * believed);
    expect(s.asked).toHaveLength(1);
    expect(s.place.reads).toBeLessThanOrEqual(6);
    s.dead.add('a');
    await s.clock.advance(believed);
    expect(await media).toMatchObject({ status: 503, text: 'node.unreachable' });
  });

  it('reads few rows for many requests that lead nowhere', async () => {
    const s = given();
    for (let n = 0; n < 500; n += 1) {
      const one = s.view(`abcdef012345_seg${n}.mp4`);
      await s.settle();
      s.asked.at(-1)?.answer('', { status: 404 });
      expect((await one).status).toBe(404);
      await s.clock.advance(2);
    }
    expect(s.place.reads).toBeLessThanOrEqual(1 + 1000 / returnLook);
    const before = s.place.reads;
    for (const file of ['../../x.mp4', 'a/b.mp4', `${'x'.repeat(70)}.mp4`, 'x', 'X.mp4'])
      expect((await s.view(file)).status).toBe(404);
    expect(s.place.reads).toBe(before);
    expect(s.asked).toHaveLength(500);
  });

  it('goes on while the store does not answer', async () => {
    const s = given();
    const ask = async () => {
      const answer = s.view(playlist);
      await s.settle();
      s.asked.at(-1)?.answer('live');
      return (await answer).text;
    };
    expect(await ask()).toBe('live');
    s.place.fails = true;
    await s.clock.advance(60_000);
    expect(await ask()).toBe('live');
    const other = s.kit as unknown as StreamsKit;
    await expect(
      edgeProxy({ ...other, metrics: new Metrics() }).serve({
        ...{ playbackId, file: playlist, query: new URLSearchParams() },
        signal: new AbortController().signal,
      }),
    ).rejects.toMatchObject({ code: 'store.unknown' });
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
