import { describe, expect, it } from 'vitest';
import { allPlugins, anotherAccount } from '../kit/all-plugins.ts';
import { type World, world } from '../kit/world.ts';

const plugins = await allPlugins();
const refused = async (w: World, options: { key?: string; peer?: string } = {}) => {
  const { status, body } = await w.request('GET', '/api/ingest/refused', options);
  expect(status).toBe(200);
  return body;
};

describe('a refused publish', () => {
  it('is shown to who calls from the address of the encoder, without its key', async () => {
    await using w = await world({ plugins });
    const { key } = await anotherAccount(w);
    const wrong = 'abcd-efgh-ijkl-3f9a';
    await w.media.publish(wrong, { address: '192.0.2.7', encoder: 'OBS 31.0' });
    await w.media.publish(wrong, { address: '192.0.2.8' });
    const own = await refused(w, { key, peer: '192.0.2.7' });
    expect(own).toEqual([
      {
        ...{ at: w.now(), address: '192.0.2.7', app: 'live', key: '••••3f9a', encoder: 'OBS 31.0' },
        ...{ reason: 'unknown_key', isYours: true, message: expect.stringContaining('unknown') },
      },
    ]);
    expect(await refused(w, { key, peer: '192.0.2.9' })).toEqual([]);
    expect(JSON.stringify(own)).not.toContain(wrong);
  });

  it('is shown in the network of an IPv6 address, where each machine has its own', async () => {
    await using w = await world({ plugins });
    const { key } = await anotherAccount(w);
    await w.media.publish('abcd-efgh-ijkl-3f9a', { address: '2001:db8:1:2::7' });
    expect(await refused(w, { key, peer: '2001:db8:1:2:a:b:c:d' })).toMatchObject([{ isYours: true }]);
    expect(await refused(w, { key, peer: '2001:db8:1:3::7' })).toEqual([]);
    // The connection is gone, and with it the address.
    expect(await refused(w, { key, peer: '' })).toEqual([]);
  });

  it('is shown to the admin account wherever it came from', async () => {
    await using w = await world({ plugins });
    await w.media.publish('abcd-efgh-ijkl-3f9a', { address: '192.0.2.7' });
    await w.media.publish('short', { address: '::1' });
    const all = await refused(w, { peer: '127.0.0.1' });
    expect(all.map((one: Record<string, unknown>) => [one.address, one.key, one.isYours])).toEqual([
      ['::1', '••••', true],
      ['192.0.2.7', '••••3f9a', false],
    ]);
  });

  it('says why', async () => {
    await using w = await world({ plugins, config: { streams: { busyKey: 'refuse' } } });
    const [busy, suspended] = [await w.given.stream(), await w.given.stream({ suspended: true })];
    await w.given.broadcast(busy);
    await w.media.publish(busy.streamKey);
    await w.media.publish(suspended.streamKey);
    await w.media.publish('', { app: busy.streamKey });
    const list = await refused(w);
    expect(list.map(({ reason }: { reason: string }) => reason)).toEqual([
      'unknown_app',
      'suspended',
      'busy',
    ]);
    expect(JSON.stringify(list)).not.toContain(busy.streamKey);
    expect(list[0]).not.toHaveProperty('key');
  });

  it('is not one that was granted, and only the last 200 are kept', async () => {
    await using w = await world({ plugins });
    await w.given.broadcast(await w.given.stream());
    expect(await refused(w)).toEqual([]);
    for (let number = 0; number < 205; number += 1) await w.media.publish(`no-such-key-${1000 + number}`);
    const list = await refused(w);
    expect([list.length, list[0].key, list.at(-1).key]).toEqual([200, '••••1204', '••••1005']);
  });

  it('is for API keys whose access has it', async () => {
    await using w = await world({ plugins });
    expect((await w.request('GET', '/api/ingest/refused', { key: null })).status).toBe(401);
    const access = { rules: [{ resources: ['ingest/refused'], methods: ['get'] }] };
    const { body } = await w.request('POST', '/api/api-token', { body: { access } });
    expect(await refused(w, { key: body.key })).toEqual([]);
  });
});
