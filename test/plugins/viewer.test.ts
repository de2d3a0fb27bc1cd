import { expect, test } from 'vitest';
import { viewerOf } from '../../plugins/streams/viewer.ts';

const url = 'http://localhost/hls/x/source.m3u8';
const viewer = (
  headers: Record<string, string> = {},
  options: { peer?: string; query?: string; file?: string } = {},
) =>
  viewerOf(new Request(url, { headers }), {
    file: options.file ?? 'source.m3u8',
    query: new URLSearchParams(options.query),
    kit: { caller: () => ({ address: options.peer ?? '10.0.0.1', baseUrl: 'http://localhost' }) },
  });

test('viewers differ by address and by player', () => {
  const agent = { 'user-agent': 'A' };
  const all = [viewer(agent), viewer(agent, { peer: '10.0.0.2' }), viewer({ 'user-agent': 'B' }), viewer()];
  expect(new Set(all).size).toBe(all.length);
  expect(viewer(agent)).toBe(viewer(agent));
});

test('a header that anybody can write makes nobody another viewer', () => {
  expect(viewer({ 'x-forwarded-for': '192.0.2.1' })).toBe(viewer());
  expect(viewer({ 'x-forwarded-for': 'x'.repeat(600), 'user-agent': 'A' })).toBe(
    viewer({ 'user-agent': 'A' }),
  );
});

test('the session of a player counts whatever its address', () => {
  const sid = 'sid="6e2fb550-c457-11e9-bb97-0800200c9a66"';
  const all = [
    viewer({ 'cmcd-session': `cid="x",${sid},sf=h` }),
    viewer({ 'cmcd-session': sid }, { peer: '10.0.0.2' }),
    viewer({}, { query: new URLSearchParams({ CMCD: `bl=100,${sid}` }).toString() }),
  ];
  expect(new Set(all)).toEqual(new Set(['6e2fb550-c457-11e9-bb97-0800200c9a66']));
  expect(viewer({ 'x-playback-session-id': 'A1' })).toBe('A1');
  expect(viewer({ 'cmcd-session': 'sid=""' })).toBe(viewer());
});

test('what a request says of itself is bounded', () => {
  expect(viewer({ 'user-agent': 'x'.repeat(4000) })?.length).toBe(512);
  expect(viewer({ 'x-playback-session-id': 'x'.repeat(4000) })?.length).toBe(512);
});

test('who fetches media is not counted by it', () => {
  for (const file of ['abc-1.m4s', 'abc-1.0.m4s', 'init.mp4']) expect(viewer({}, { file })).toBe(undefined);
});
