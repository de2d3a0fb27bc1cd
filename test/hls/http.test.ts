import { connect } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { Metrics } from '../../core/base/metrics.ts';
import { httpCore } from '../../core/http/http.ts';
import { hlsRoutes } from '../../plugins/streams/hls.ts';
import { systemClock } from '../../runtime/drivers/clock/system.ts';
import { listen } from '../../runtime/http/listen.ts';
import { slabSize } from '../../runtime/media/live/slabs.ts';
import { useOf } from '../kit/use.ts';
import { until } from '../media/kit.ts';
import { parsePlaylist } from './checker.ts';
import { Feed, play, sendHeaders } from './feed.ts';

/** The routes of live playback behind a real server, over one output that is on the air. */
const feed = new Feed();
const publisher = feed.attach();
sendHeaders(publisher.sink);
await play(feed, publisher.sink, { seconds: 5 });
/** One whose segments are larger than what sockets buffer. */
const large = new Feed();
const sender = large.attach();
sendHeaders(sender.sink);
await play(large, sender.sink, { seconds: 11, gop: 120, size: 150_000 });
const signals: AbortSignal[] = [];
const media = {
  serve({ playbackId, file, query, signal }: Parameters<Feed['output']['serve']>[1] & never) {
    signals.push(signal);
    if (playbackId === 'large') return large.output.broadcast.serve(file, query, signal);
    return playbackId === 'on' ? feed.output.broadcast.serve(file, query, signal) : undefined;
  },
  appears: async () => false,
};
const kit = {
  use: useOf({ media }),
  clock: systemClock(),
  metrics: new Metrics(),
  config: { maxWaitingViewers: 5, relayMemory: 64 },
  deployment: { isAlone: true, nodes: { own: { id: 'local' } } },
  resources: { find: async () => undefined },
  caller: () => ({ address: undefined, baseUrl: 'http://localhost' }),
  offered: () => [],
  decide: {},
};
const app = httpCore({ log: undefined as never, routes: [hlsRoutes(kit as never)] });
const server = await listen(app, { port: 0, host: '127.0.0.1', log: undefined as never });
const base = `http://127.0.0.1:${server.port}/hls/on`;
const playlist = parsePlaylist(await feed.text('source.m3u8'));
afterAll(() => server.stop());

test('a range of a segment is answered with all of it, which every player takes', async () => {
  const whole = await feed.bytes(playlist.segments[1].uri);
  for (const range of ['bytes=0-', 'bytes=0-99', 'bytes=10-19', 'bytes=99999999-', 'bytes=-5', 'x']) {
    const answer = await fetch(`${base}/${playlist.segments[1].uri}`, { headers: { range } });
    expect([range, answer.status, answer.headers.get('content-range')]).toEqual([range, 200, null]);
    expect(Buffer.compare(await answer.bytes(), whole)).toBe(0);
  }
});

test('HEAD says what GET does, without the body', async () => {
  for (const file of ['index.m3u8', 'source.m3u8', playlist.segments[1].uri, playlist.segments[1].map]) {
    const got = await fetch(`${base}/${file}`);
    const head = await fetch(`${base}/${file}`, { method: 'HEAD' });
    expect((await head.bytes()).length).toBe(0);
    expect(head.status).toBe(200);
    for (const name of ['content-type', 'cache-control', 'content-length', 'access-control-allow-origin'])
      expect([file, name, head.headers.get(name)]).toEqual([file, name, got.headers.get(name)]);
  }
  expect((await fetch(`${base}/nothing.mp4`, { method: 'HEAD' })).status).toBe(404);
});

test('a script of another origin may read every answer, and the age that a cache adds', async () => {
  const off = base.replace('/on', '/off');
  for (const url of [
    `${base}/index.m3u8`,
    `${base}/nothing`,
    `${base}/source.m3u8?_HLS_msn=x`,
    `${off}/index.m3u8`,
  ]) {
    const { headers } = await fetch(url, { headers: { origin: 'https://example.org' } });
    expect([url, headers.get('access-control-allow-origin')]).toEqual([url, '*']);
    expect(headers.get('access-control-expose-headers')?.split(', ')).toEqual(
      expect.arrayContaining(['Age', 'Date']),
    );
  }
  const preflight = await fetch(`${base}/index.m3u8`, {
    method: 'OPTIONS',
    headers: { origin: 'https://example.org', 'access-control-request-headers': 'range' },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get('access-control-allow-headers')).toContain('Range');
});

test('an absent playlist is 404, not to be kept, and says when to ask again', async () => {
  for (const path of ['on/nothing.m3u8', 'off/index.m3u8', 'off/source.m3u8?_HLS_msn=5', 'o%66f/x']) {
    const { status, headers } = await fetch(base.replace('on', path));
    expect([path, status, headers.get('cache-control'), headers.get('retry-after')]).toEqual([
      path,
      404,
      'no-store',
      '1',
    ]);
  }
});

test('a viewer who leaves takes the waiting request along', async () => {
  const { sequence } = playlist.open;
  const sockets = Array.from({ length: 20 }, () => {
    const socket = connect(server.port as number, '127.0.0.1');
    socket.write(`GET /hls/on/source.m3u8?_HLS_msn=${sequence + 1} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    return socket;
  });
  await until('20 who wait', () => feed.output.waiting === 20);
  for (const socket of sockets.slice(0, 15)) socket.destroy();
  await until('15 who have gone', () => feed.output.waiting === 5);
  for (const socket of sockets) socket.destroy();
  await until('all to be gone', () => feed.output.waiting === 0);
  expect(feed.clock.timers).toBe(0);
});

test('a slow viewer gets the bytes of then, though other media took the place of what left the window; one who leaves holds nothing', async () => {
  const { segments } = parsePlaylist(await large.text('source.m3u8'));
  const { uri } = segments[1];
  const whole = await large.bytes(uri);
  expect(whole.length).toBeGreaterThan(15_000_000);
  const get = () => {
    const socket = connect(server.port, '127.0.0.1');
    socket.pause();
    socket.write(`GET /hls/large/${uri} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    return socket;
  };
  const before = signals.length;
  const [slow, leaving] = [get(), get()];
  // Nothing is read of the body of this one.
  await fetch(`${base.replace('/on', '/large')}/${uri}`, { method: 'HEAD' });
  await until('all to be asked for', () => signals.length === before + 3);
  // All that the window has now is new.
  await play(large, sender.sink, { seconds: 30, from: 11_000, gop: 120, size: 150_000 });
  expect((await large.output.serve(uri)).status).toBe(404);
  const received: Buffer[] = [];
  slow.on('data', (bytes: Buffer) => received.push(bytes));
  slow.resume();
  await new Promise((resolve) => slow.once('close', resolve));
  const answer = Buffer.concat(received);
  expect(Buffer.compare(answer.subarray(answer.indexOf('\r\n\r\n') + 4), whole)).toBe(0);
  const idle = large.slabs.idle;
  leaving.destroy();
  await until('the slabs of the other', () => large.slabs.idle >= idle + whole.length - 2 * slabSize);
});
