import { expect, test } from 'vitest';
import type { PublishGrant } from '../../core/ports/media.ts';
import type { MediaRecorder, RecordingFeed } from '../../runtime/media/recording/feed.ts';
import { parseSegmentPlaylist } from '../hls/event-checker.ts';
import { ScriptedTake } from '../hls/scripted-take.ts';
import { scriptedRecorder } from '../kit/scripted-recorder.ts';
import { grant, sendHeaders, sendMedia, station, until } from './kit.ts';

/** A station that records what its grants say, by stream key: `plain` is not recorded. */
async function recording(options: { feed?: (grant: PublishGrant) => RecordingFeed | undefined } = {}) {
  const takes = new Map<string, ScriptedTake>();
  const asked: string[] = [];
  const take = (sessionId: string) => {
    const known = takes.get(sessionId) ?? new ScriptedTake();
    takes.set(sessionId, known);
    return known;
  };
  const recorder: MediaRecorder = {
    ...scriptedRecorder(),
    feed(given) {
      asked.push(given.token);
      return options.feed ? options.feed(given) : take(given.sessionId).feed();
    },
  };
  let count = 0;
  const s = await station(
    async ({ key }) => {
      count += 1;
      const given = { ...grant({ token: `t${count}`, playbackId: key, turn: count }), sessionId: key };
      return key === 'plain' ? given : { ...given, recording: { folder: 'assets/a' } };
    },
    { recorder },
  );
  const get = async (id: string, file: string, query = '') => {
    const answer = await s.serve(file, { id, query });
    return answer?.status === 200 ? answer.text() : answer?.status;
  };
  return { s, take, asked, get, [Symbol.asyncDispose]: s.stop };
}

test('a publish that is granted a recording is recorded, and no other', async () => {
  await using r = await recording();
  const [plain, key] = [await r.s.encoder('plain'), await r.s.encoder('key')];
  for (const encoder of [plain, key]) {
    sendHeaders(encoder);
    sendMedia(encoder, { seconds: 6 });
  }
  await until('both on the air', () => r.s.told().length === 2);
  await until('segments in the recording', () => r.take('key').count > 2);
  expect(r.asked).toEqual(['t2']);
  expect(await r.get('plain', 'index.m3u8', 'dvr=1')).toBe(404);
  expect(await r.get('key', 'index.m3u8', 'dvr=1')).toContain('\ndvr.m3u8\n');
  const text = String(await r.get('key', 'dvr.m3u8'));
  expect(parseSegmentPlaylist(text).segments).toHaveLength(r.take('key').count);
  await key.close({ clean: false });
  await until('its end', () => r.s.told().includes('closed t2'));
  expect(r.take('key').calls.at(-1)).toBe('end');
  // Held: it plays all the same, and goes on when the encoder comes back.
  const held = parseSegmentPlaylist(String(await r.get('key', 'dvr.m3u8'))).segments;
  const back = await r.s.encoder('key');
  sendHeaders(back);
  sendMedia(back, { seconds: 6 });
  await until('more', () => r.take('key').count > held.length + 1);
  const now = parseSegmentPlaylist(String(await r.get('key', 'dvr.m3u8'))).segments;
  expect(now.slice(0, held.length)).toEqual(held);
  expect(now.at(-1)?.discontinuities).toBe(1);
  await back.close({ clean: true });
  await until('the end', () => r.s.told().includes('closed t3 clean'));
  r.s.media.retire('key');
  expect(await r.get('key', 'dvr.m3u8')).toBe(undefined);
});

test('a takeover: the recording of the one ends before that of the other begins', async () => {
  await using r = await recording();
  const first = await r.s.encoder('key');
  sendHeaders(first);
  sendMedia(first, { seconds: 4 });
  await until('the first', () => r.take('key').count > 0);
  const second = await r.s.encoder('key');
  sendHeaders(second);
  sendMedia(second, { seconds: 4 });
  await until('the second', () => r.s.told().includes('playable t2'));
  r.s.media.close('t1', 'Another broadcast took over.');
  await until('the end of the first', () => r.s.told().includes('closed t1'));
  const others = r.take('key').calls.filter((call) => !call.startsWith('part'));
  expect(others).toEqual(['begin', 'end', 'begin']);
});

test('a recorder that throws is told of in the log and in the issues, and the broadcast plays', async () => {
  await using r = await recording({
    feed() {
      throw new Error('no recorder today');
    },
  });
  const encoder = await r.s.encoder('key');
  sendHeaders(encoder);
  sendMedia(encoder, { seconds: 4 });
  await until('on the air', () => r.s.told().includes('playable t1'));
  expect(await r.get('key', 'source.m3u8')).toContain('#EXTM3U');
  expect(r.s.media.readings()[0].figures.issues).toEqual([expect.stringContaining('recording')]);
  expect(r.s.media.figures('t1')?.issues).toHaveLength(1);
  const lines = r.s.lines.filter((line) => line.includes('recording'));
  expect(lines).toEqual([
    expect.stringMatching(/^error a broadcast could not be handed to its recording .*"sessionId":"key"/),
  ]);
});

test('who watches from the recording is a viewer', async () => {
  await using r = await recording();
  const encoder = await r.s.encoder('key');
  sendHeaders(encoder);
  sendMedia(encoder, { seconds: 4 });
  await until('segments in the recording', () => r.take('key').count > 0);
  for (const viewer of ['a', 'b', 'a'])
    await r.s.media.serve({
      playbackId: 'key',
      file: 'dvr.m3u8',
      query: new URLSearchParams(),
      signal: new AbortController().signal,
      viewers: [viewer],
    });
  expect(r.s.media.readings()[0].viewers).toBe(2);
});
