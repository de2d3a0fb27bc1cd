import { expect, it } from 'vitest';
import { playlistType } from '../../../core/hls/playlist.ts';
import type { Plugin } from '../../../core/plugin/plugin.ts';
import playback from '../../../plugins/playback/index.ts';
import protection from '../../../plugins/protection/index.ts';
import { fleet } from '../../kit/fleet.ts';
import { created, onAir, plugins, three } from '../fleet/kit.ts';
import { liveFile, tokenOf, withToken } from './kit.ts';

it('every node lets in whom another let in, and none of them when the key is deleted', async () => {
  await using f = await fleet({ plugins: [...plugins, playback, protection] as unknown as Plugin[] });
  const { a, m, n } = await three(f);
  const stream = await created(a, { playbackPolicy: { type: 'signed' } });
  await onAir(f, m, stream);
  // As another node gets it: with its length.
  m.media.serve = (asked) => {
    const answer = liveFile(asked);
    if (!('type' in answer) || answer.type !== 'playlist') return answer;
    const body = new Blob([answer.body as string]);
    return { type: 'media', body, size: body.size, contentType: playlistType };
  };
  const key = (await a.request('POST', '/api/signing-key', { body: {} })).body;
  const sub = stream.playbackId;
  const view = async (node: typeof m, path: string) => {
    const answer = await node.booted.app.handle(new Request(`http://localhost:8080/hls/${sub}/${path}`));
    return { status: answer.status, text: await answer.text() };
  };
  const token = tokenOf(key, { sub, exp: Math.floor(key.createdAt / 1000) + 5 });
  for (const node of [m, n]) expect((await view(node, 'index.m3u8')).status).toBe(403);
  const { status, text } = await view(n, withToken('index.m3u8', token));
  expect(status).toBe(200);
  const [list] = text.match(/source\.m3u8\?token=[\w-]+/) as RegExpMatchArray;
  const part = list.replace('source.m3u8', 'abcdef012345_part7.1.mp4');
  // The other one never saw the token itself.
  await f.advance('2m');
  const both = () =>
    Promise.all([m, n].flatMap((node) => [list, part].map(async (path) => (await view(node, path)).status)));
  expect(await both()).toEqual([200, 200, 200, 200]);
  expect((await view(m, withToken('index.m3u8', token))).status).toBe(403);
  expect((await a.request('DELETE', `/api/signing-key/${key.id}`)).status).toBe(204);
  for (let second = 0; second < 5; second += 1) {
    await f.advance('1s');
    await both();
  }
  expect(await both()).toEqual([403, 403, 403, 403]);
});
