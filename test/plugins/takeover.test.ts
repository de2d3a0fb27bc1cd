import { describe, expect, it } from 'vitest';
import type { Plugin } from '../../core/plugin/plugin.ts';
import accounts from '../../plugins/accounts/index.ts';
import streams from '../../plugins/streams/index.ts';
import { world } from '../kit/world.ts';

const plugins = [accounts, streams] as unknown as Plugin[];
const config = (busyKey: string) => ({ streams: { busyKey } });

describe('two encoders with one key', () => {
  it('are braked: the fourth takeover is refused for 30 s, with an issue', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const path = `/api/stream/${stream.id}`;
    await w.given.broadcast(stream);
    await w.given.broadcast(stream);
    await w.given.broadcast(stream);
    expect((await w.request('GET', path)).body.issues).toEqual([]);
    const last = await w.given.broadcast(stream);
    const { answer } = await w.media.publish(stream.streamKey);
    expect(answer).toEqual({
      granted: false,
      reason: 'rejected',
      message: 'Another broadcast uses this stream key. Try again in 30 s.',
    });
    expect(last.closedBecause).toBeUndefined();
    for (const shown of [path, `/api/stream/${last.grant.sessionId}`]) {
      const { body } = await w.request('GET', shown);
      expect(body).toMatchObject({ isActive: true, isHealthy: true });
      expect(body.issues).toEqual([expect.stringContaining('Several encoders')]);
    }
    await w.advance('29999ms');
    expect((await w.media.publish(stream.streamKey)).answer).toMatchObject({ granted: false });
    await w.advance('1ms');
    expect((await w.request('GET', path)).body.issues).toEqual([]);
    expect((await w.media.publish(stream.streamKey)).answer).toMatchObject({ granted: true });
  });

  it('are told apart from a suspended stream and an unknown key', async () => {
    await using w = await world({ plugins, config: config('refuse') });
    const stream = await w.given.stream();
    const first = await w.given.broadcast(stream);
    expect((await w.media.publish(stream.streamKey)).answer).toMatchObject({
      reason: 'rejected',
      message: 'Another broadcast uses this stream key.',
    });
    expect(first.closedBecause).toBeUndefined();
    await w.request('PATCH', `/api/stream/${stream.id}`, { body: { suspended: true } });
    expect((await w.media.publish(stream.streamKey)).answer).toMatchObject({
      message: 'This stream is suspended.',
    });
  });

  it('take turns with busyKey refuse', async () => {
    await using w = await world({ plugins, config: config('refuse') });
    const stream = await w.given.stream();
    const first = await w.given.broadcast(stream);
    first.end({ clean: false });
    await w.settle();
    const second = await w.given.broadcast(stream);
    expect(second.grant.sessionId).toBe(first.grant.sessionId);
  });

  it('with busyKey refuse show for a minute that one was refused, and what to do', async () => {
    await using w = await world({ plugins, config: config('refuse') });
    const stream = await w.given.stream();
    const publish = await w.given.broadcast(stream);
    const issues = async (id = stream.id) => (await w.request('GET', `/api/stream/${id}`)).body.issues;
    expect(await issues()).toEqual([]);
    expect((await w.media.publish(stream.streamKey)).answer).toMatchObject({ reason: 'rejected' });
    for (const id of [stream.id, publish.grant.sessionId]) {
      expect(await issues(id)).toEqual([
        expect.stringMatching(/refused, because the key is in use\. Stop one of the two/),
      ]);
    }
    expect((await w.request('GET', `/api/stream/${stream.id}`)).body.isHealthy).toBe(true);
    await w.advance('59s');
    expect(await issues()).toHaveLength(1);
    await w.advance('2s');
    expect(await issues()).toEqual([]);
    await w.media.publish(stream.streamKey);
    expect(await issues()).toHaveLength(1);
    // Whoever comes now is let in, so there is nothing to mend.
    publish.end({ clean: true });
    await w.settle();
    expect(await issues()).toEqual([]);
  });

  it.each(['takeover', 'refuse'])(
    'with busyKey %s: a push is refused while another is live',
    async (busyKey) => {
      await using w = await world({ plugins, config: config(busyKey) });
      const stream = await w.given.stream();
      const push = () => w.media.publish(stream.streamKey, { isPush: true });
      const refused = {
        granted: false,
        reason: 'rejected',
        message: 'Another broadcast uses this stream key.',
      };
      // One that plays nothing yet has the key as well.
      const encoder = await w.media.publish(stream.streamKey);
      expect((await push()).answer).toEqual(refused);
      encoder.playable();
      await w.settle();
      for (let attempt = 0; attempt < 5; attempt += 1) expect((await push()).answer).toEqual(refused);
      expect(encoder.closedBecause).toBeUndefined();
      expect((await w.request('GET', `/api/stream/${stream.id}`)).body).toMatchObject({
        isActive: true,
        isHealthy: true,
      });
    },
  );

  it('are let in as a push while the stream is off, held or recent, and give way to an encoder', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const push = async () => {
      const publish = await w.media.publish(stream.streamKey, { isPush: true });
      expect(publish.answer).toMatchObject({ granted: true });
      publish.playable();
      await w.settle();
      return publish;
    };
    const off = await push();
    const again = await w.media.publish(stream.streamKey, { isPush: true });
    expect(again.answer).toMatchObject({ granted: false, reason: 'rejected' });
    off.end({ clean: false });
    await w.settle();
    const held = await push();
    held.end({ clean: true });
    await w.settle();
    const recent = await push();
    expect([held, recent].map(({ grant }) => grant.sessionId)).toEqual(Array(2).fill(off.grant.sessionId));
    const encoder = await w.given.broadcast(stream);
    expect(recent.closedBecause).toBe('Another broadcast with the same key took over.');
    expect(encoder.answer).toMatchObject({ granted: true });
  });

  it('as refused pushes do not count for the brake of encoders', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    await w.given.broadcast(stream);
    for (let attempt = 0; attempt < 5; attempt += 1)
      await w.media.publish(stream.streamKey, { isPush: true });
    expect((await w.media.publish(stream.streamKey)).answer).toMatchObject({ granted: true });
  });

  it('need a busyKey that is known', async () => {
    await expect(world({ plugins, config: config('fight') })).rejects.toThrow(
      'plugins.streams.busyKey: expected "takeover" or "refuse"',
    );
  });
});
