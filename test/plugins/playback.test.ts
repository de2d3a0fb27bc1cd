import { describe, expect, it } from 'vitest';
import { definePlugin, type Plugin } from '../../core/plugin/plugin.ts';
import { offer } from '../../core/plugin/token.ts';
import accounts from '../../plugins/accounts/index.ts';
import { neverReady, notReady, playables } from '../../plugins/playback/contract.ts';
import playback from '../../plugins/playback/index.ts';
import streams from '../../plugins/streams/index.ts';
import { type World, world } from '../kit/world.ts';

const plugins = [accounts, streams, playback] as unknown as Plugin[];
const ask = (w: World, id: string) => w.request('GET', `/api/playback/${id}`, { key: null });

function live(playbackId: string, phase: 'upcoming' | 'live' | 'interrupted' | 'over') {
  const isLive = phase === 'live' || phase === 'interrupted' ? 1 : 0;
  const url = `http://localhost:8080/hls/${playbackId}/index.m3u8`;
  const source = [{ hrn: 'HLS (TS)', type: 'html5/application/vnd.apple.mpegurl', url }];
  return { type: 'live', meta: { live: isLive, phase, source } };
}

describe('playback info', () => {
  it('tells everyone where a stream is watched, and whether it is on', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const before = await ask(w, stream.playbackId);
    expect([before.status, before.body]).toEqual([200, live(stream.playbackId, 'upcoming')]);
    expect(before.headers.get('access-control-allow-origin')).toBe('*');
    const publish = await w.given.broadcast(stream);
    expect((await ask(w, stream.playbackId)).body).toEqual(live(stream.playbackId, 'live'));
    publish.end({ clean: true });
    await w.settle();
    expect((await ask(w, stream.playbackId)).body).toEqual(live(stream.playbackId, 'over'));
  });

  it('tells a connection that is lost for now from a broadcast that is over', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const publish = await w.given.broadcast(stream);
    publish.end({ clean: false });
    await w.settle();
    expect((await ask(w, stream.playbackId)).body).toEqual(live(stream.playbackId, 'interrupted'));
    await w.given.broadcast(stream);
    expect((await ask(w, stream.playbackId)).body).toEqual(live(stream.playbackId, 'live'));
  });

  it('names the recording of the broadcast that is over, once there is one', async () => {
    let recorded: 'waiting' | 'ready' | 'failed' | 'none' = 'none';
    const asked: string[] = [];
    const source = [{ hrn: 'MP4', type: 'html5/video/mp4', url: 'http://localhost:8080/r' }];
    const recordings = definePlugin({
      id: 'recorder',
      summary: 'recordings that the test says',
      offers: [
        offer(playables, () => ({
          async find(id) {
            asked.push(id);
            if (recorded === 'waiting') throw notReady;
            if (recorded === 'failed') throw neverReady;
            if (recorded === 'ready')
              return { type: 'recording' as const, meta: { live: 0 as const, source } };
            return undefined;
          },
        })),
      ],
    });
    await using w = await world({ plugins: [...plugins, recordings] as Plugin[] });
    const stream = await w.given.stream();
    const { grant, end } = await w.given.broadcast(stream);
    end({ clean: true });
    await w.settle();
    asked.length = 0;
    const meta = async () => (await ask(w, stream.playbackId)).body.meta;
    expect(await meta()).toEqual(live(stream.playbackId, 'over').meta);
    expect(asked).toEqual([grant.sessionId]);
    recorded = 'waiting';
    expect((await meta()).recording).toEqual({ id: grant.sessionId, status: 'waiting' });
    recorded = 'ready';
    expect((await meta()).recording).toEqual({ id: grant.sessionId, status: 'ready' });
    recorded = 'failed';
    expect(await meta()).not.toHaveProperty('recording');
    expect((await ask(w, grant.sessionId)).body.code).toBe('playback.failed');
  });

  it('knows the session that is on the air, and no longer when it is over', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const publish = await w.given.broadcast(stream);
    expect((await ask(w, publish.grant.sessionId)).body).toEqual(live(stream.playbackId, 'live'));
    publish.end({ clean: true });
    await w.settle();
    expect((await ask(w, publish.grant.sessionId)).status).toBe(404);
  });

  it.each(['0123456789abcdef', 'nothing', '%00', '00000000-0000-4000-8000-000000000000'])(
    'is 404 for what nobody knows, also to a page elsewhere: %s',
    async (id) => {
      await using w = await world({ plugins });
      const { status, body, headers } = await ask(w, id);
      expect([status, body.code]).toEqual([404, 'playback.not_found']);
      expect(headers.get('access-control-allow-origin')).toBe('*');
    },
  );

  it('hides a parent behind its own id, and a stream that was deleted', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    expect((await ask(w, stream.id)).status).toBe(404);
    await w.request('DELETE', `/api/stream/${stream.id}`);
    expect((await ask(w, stream.playbackId)).status).toBe(404);
  });

  it('lets a browser ask first', async () => {
    await using w = await world({ plugins });
    const { status, headers } = await w.request('OPTIONS', '/api/playback/x', { key: null });
    expect([status, headers.get('access-control-allow-origin')]).toEqual([204, '*']);
  });

  it('asks every plugin that offers something, the first that knows the id answers', async () => {
    const info = (url: string) => ({
      type: 'vod' as const,
      meta: { live: 0 as const, source: [{ hrn: 'MP4', type: 'html5/video/mp4', url }] },
    });
    const offers = (id: string, known: string) =>
      definePlugin({
        id,
        summary: id,
        offers: [
          offer(playables, () => ({ find: async (asked) => (asked === known ? info(id) : undefined) })),
        ],
      });
    const more = [offers('one', 'a'), offers('two', 'a'), offers('three', 'b')] as Plugin[];
    await using w = await world({ plugins: [...plugins, ...more] });
    expect((await ask(w, 'a')).body).toEqual(info('one'));
    expect((await ask(w, 'b')).body).toEqual(info('three'));
    expect((await ask(w, 'c')).status).toBe(404);
  });

  it('works without streams, and streams without it', async () => {
    await using alone = await world({ plugins: [playback] as unknown as Plugin[] });
    expect((await ask(alone, '0123456789abcdef')).body.code).toBe('playback.not_found');
    await using off = await world({ plugins: [accounts, streams] as unknown as Plugin[] });
    const { playbackId } = await off.given.stream();
    expect((await ask(off, playbackId)).body.code).toBe('route.not_found');
  });
});
