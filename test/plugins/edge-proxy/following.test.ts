import { describe, expect, it } from 'vitest';
import { Metrics } from '../../../core/base/metrics.ts';
import type { StreamsKit } from '../../../plugins/streams/config.ts';
import { believed } from '../../../plugins/streams/edge/playlist-locations.ts';
import { edgeProxy, returnLook } from '../../../plugins/streams/edge/proxy.ts';
import { part, playbackId, playlist, stations, unreachable } from './kit.ts';

const given = stations();

describe('playback of what another node has', () => {
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
});
