import { expect, test } from 'vitest';
import { newPlaybackId, newStreamKey, uuid } from '../../core/ids.ts';
import { nameBeside, partitionOf } from '../../runtime/actors/partition.ts';
import { allPlugins } from '../kit/all-plugins.ts';
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

test('draws that never fit come to an end', () => {
  expect(() => nameBeside('a', { draw: () => 'b', partitions: 16 })).toThrow(/no name of 100000 lies in/);
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
