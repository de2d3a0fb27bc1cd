import { expect, test } from 'vitest';
import { newPlaybackId, newStreamKey, uuid } from '../../core/base/ids.ts';
import { nameBeside, partitionOf } from '../../runtime/actors/actor-name.ts';
import { sqliteStore } from '../../runtime/drivers/store/sqlite/index.ts';
import { row, step } from '../conformance/store/fixtures.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { trackedStore } from '../kit/tracked-store.ts';
import { world } from '../kit/world.ts';

test('a name is drawn until it lies in the partition of the id', () => {
  for (const partitions of [1, 2, 16, 100]) {
    for (const draw of [uuid, newStreamKey, newPlaybackId]) {
      const id = uuid();
      const names = Array.from({ length: 20 }, () => nameBeside(id, { draw, partitions }));
      const places = new Set(names.map((name) => partitionOf(name, partitions)));
      expect(places).toEqual(new Set([partitionOf(id, partitions)]));
      expect(new Set(names).size).toBe(20);
    }
  }
});

test('a reader that says where a row is, and is wrong, is found out in tests', async () => {
  const { store } = trackedStore(sqliteStore({ file: ':memory:' }));
  const leases = await store.acquire(16);
  const lease = leases[(partitionOf('s1', 16) + 1) % 16] as (typeof leases)[0];
  await store.commit(step(lease, { rows: [row({ indexes: { key: 's1' } })] }));
  await store.write({
    at: 0,
    events: [],
    rows: [{ ...row({ id: 'p', indexes: { key: 'p' } }), revision: 0 }],
  });
  const { get, find } = store.resources;
  await expect(get('stream', 's1', { isBeside: true })).rejects.toThrow('in the partition of "s1"');
  await expect(find('stream', 'key', 's1', { isBeside: true })).rejects.toThrow('where it is not');
  await expect(get('stream', 's1', { isPlain: true })).rejects.toThrow('as a plain row');
  expect(await get('stream', 'p', { isPlain: true })).toMatchObject({ id: 'p' });
  await store.close();
});

test('keys, playback ids and sessions lie beside the stream: a lookup by any of them asks one partition', async () => {
  await using w = await world({ plugins: await allPlugins() });
  const place = (name: string) => partitionOf(name, 16);
  for (let count = 0; count < 5; count += 1) {
    const stream = await w.given.stream();
    await w.given.broadcast(stream);
    const { body: rotated } = await w.request('POST', `/api/stream/${stream.id}/rotate-key`);
    const { body: sessions } = await w.request('GET', `/api/stream/${stream.id}/sessions`);
    expect(sessions).toHaveLength(1);
    const names = [stream.streamKey, stream.playbackId, rotated.streamKey, sessions[0].id];
    expect(names.map(place)).toEqual(names.map(() => place(stream.id)));
    expect(rotated.streamKey).toMatch(/^([0-9a-z]{4}-){3}[0-9a-z]{4}$/);
  }
});
