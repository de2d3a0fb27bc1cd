import { expect, test } from 'vitest';
import { responseOf } from '../../hls/feed.ts';
import { grant, sendHeaders, sendMedia, station, until } from '../kit.ts';
import { ScriptedMaker, TWO } from './kit.ts';

test('a grant with profiles has renditions, whose viewers are viewers of the broadcast', async () => {
  const maker = new ScriptedMaker();
  await using s = await station(async () => ({ ...grant({ token: 't1' }), profiles: TWO }), {
    transcoder: maker,
  });
  const encoder = await s.encoder();
  sendHeaders(encoder);
  sendMedia(encoder, { seconds: 5 });
  const ask = async (file: string, viewer: string) =>
    responseOf(
      s.media.serve({
        playbackId: 'key',
        file,
        query: new URLSearchParams(),
        signal: new AbortController().signal,
        viewers: [viewer],
      }),
    );
  await until('a rendition', () => maker.ladders.length > 0 && maker.ladder.isListed(1));
  expect(maker.ladder).toMatchObject({ playbackId: 'key', streamId: 'stream of key', profiles: TWO });
  for (const [file, viewer] of [
    ['source.m3u8', 'a'],
    ['r1.m3u8', 'b'],
    ['r2.m3u8', 'a'],
    ['r2.m3u8', 'c'],
  ])
    expect((await ask(file, viewer))?.status).toBe(200);
  expect((await ask('r3.m3u8', 'd'))?.status).toBe(404);
  expect(s.media.readings()[0].viewers).toBe(3);
  await encoder.close({ clean: true });
  await until('the end', () => s.told().includes('closed t1 clean'));
  s.media.retire('key');
  expect(maker.ends).toBe(1);
});
