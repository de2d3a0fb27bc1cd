import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Plugin } from '../../core/plugin/plugin.ts';
import ingest from '../../plugins/ingest/index.ts';
import { distance } from '../../plugins/ingest/regions.ts';
import { mmdb } from '../kit/mmdb.ts';
import { type World, world } from '../kit/world.ts';

const plugins = [ingest] as unknown as Plugin[];
const frankfurt = { latitude: 50.03, longitude: 8.57 };
const newYork = { latitude: 40.64, longitude: -73.78 };
const sydney = { latitude: -33.95, longitude: 151.18 };
const region = (name: string, more: object = {}) => ({
  region: name,
  ingest: `rtmp://${name}-rtmp.example.com/live`,
  playback: `https://${name}-cdn.example.com/hls`,
  base: `https://${name}-cdn.example.com`,
  ...more,
});
const regions = [
  region('fra', { location: frankfurt }),
  region('jfk', { location: newYork }),
  region('syd', { location: sydney, cidrs: ['203.0.113.0/24'] }),
  region('nil'),
];
const places = {
  '198.51.100.0/24': { location: { latitude: 42.36, longitude: -71.06 }, city: { names: { en: 'Boston' } } },
  '203.0.113.0/24': { location: { latitude: 48.85, longitude: 2.35 } },
  '192.0.2.0/25': { location: { latitude: -36.85, longitude: 174.76 } },
  '192.0.2.128/25': { country: { iso_code: 'DE' } },
  '2001:db8::/32': { location: { latitude: 52.52, longitude: 13.4 } },
};

let folder: string;
let file: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-mmdb-'));
  file = join(folder, 'places.mmdb');
  await writeFile(file, mmdb(places));
});
afterAll(() => rm(folder, { recursive: true }));

async function order(w: World, peer: string, headers: Record<string, string> = {}): Promise<string[]> {
  const { body } = await w.request('GET', '/api/ingest?first=false', { key: null, peer, headers });
  return body.map(({ base }: { base: string }) => base.slice('https://'.length, 'https://'.length + 3));
}

describe('with a database of locations, the nearest region', () => {
  it.each([
    ['is that with the least distance: Boston', '198.51.100.7', ['jfk', 'fra', 'syd', 'nil']],
    ['is that with the least distance: Auckland', '192.0.2.5', ['syd', 'jfk', 'fra', 'nil']],
    ['is that with the least distance: Berlin, by IPv6', '2001:db8::9', ['fra', 'jfk', 'syd', 'nil']],
    ['is that of a block all the same, then by distance', '203.0.113.9', ['syd', 'fra', 'jfk', 'nil']],
    ['is the first for whom the database has no place', '192.0.2.200', ['fra', 'jfk', 'syd', 'nil']],
    ['is the first for whom the database does not have', '10.0.0.1', ['fra', 'jfk', 'syd', 'nil']],
  ])('%s', async (_, peer, names) => {
    await using w = await world({ plugins, config: { ingest: { regions, database: file } } });
    expect(await order(w, peer)).toEqual(names);
  });

  it('follows the file when it is replaced, and stays with what it had when that cannot be read', async () => {
    const path = join(folder, 'changing.mmdb');
    await writeFile(path, mmdb({ '198.51.100.0/24': { location: newYork } }));
    await using w = await world({ plugins, config: { ingest: { regions, database: path } } });
    const nearest = async () => (await order(w, '198.51.100.7'))[0];
    expect(await nearest()).toBe('jfk');
    const replaced = async (bytes: Buffer, at: number) => {
      const lines = w.lines.length;
      await writeFile(path, bytes);
      await utimes(path, at, at);
      await w.advance('60s');
      while (w.lines.length === lines) await new Promise((resolve) => setImmediate(resolve));
      return w.lines.at(-1);
    };
    expect(await replaced(mmdb({ '198.51.100.0/24': { location: sydney } }), 1000)).toContain('read again');
    expect(await nearest()).toBe('syd');
    expect(await replaced(Buffer.from('nothing of the kind'), 2000)).toContain('could not be read again');
    expect(await nearest()).toBe('syd');
    expect(await replaced(mmdb({ '198.51.100.0/24': { location: frankfurt } }), 3000)).toContain(
      'read again',
    );
    expect(await nearest()).toBe('fra');
  });

  it.each([
    ['is missing', undefined, 'there is no such file'],
    ['is empty', Buffer.alloc(0), 'expected a database of the MaxMind DB format'],
    [
      'is something else',
      Buffer.from('{"not": "a database"}'),
      'expected a database of the MaxMind DB format',
    ],
    ['has lost its end', mmdb(places).subarray(0, 900), 'expected a database of the MaxMind DB format'],
    ['has lost its middle', withoutMiddle(mmdb(places)), 'expected a database of the MaxMind DB format'],
  ])('stops the start when the file %s', async (_, bytes, problem) => {
    const path = join(folder, 'bad.mmdb');
    await rm(path, { force: true });
    if (bytes) await writeFile(path, bytes);
    const started = world({ plugins, config: { ingest: { regions, database: path } } });
    await expect(started).rejects.toThrow(`plugins.ingest.database: ${path}: ${problem}`);
  });
});

it.each([
  [{ latitude: 91, longitude: 0 }, 'location.latitude'],
  [{ latitude: 0, longitude: -181 }, 'location.longitude'],
  [{ latitude: 0 }, 'location.longitude'],
])('a location is not %j', async (location, name) => {
  const config = { ingest: { regions: [region('fra', { location })] } };
  await expect(world({ plugins, config })).rejects.toThrow(`plugins.ingest.regions.0.${name}`);
});

it.each([
  [frankfurt, newYork, 6200],
  [frankfurt, sydney, 16_480],
  [{ latitude: 0, longitude: 179.5 }, { latitude: 0, longitude: -179.5 }, 111],
  [{ latitude: 90, longitude: 0 }, { latitude: 90, longitude: 120 }, 0],
])('the distance of %j and %j is %i km', (from, to, kilometres) => {
  expect(Math.abs(distance(from, to) * 6371 - kilometres)).toBeLessThan(20);
  expect(distance(to, from)).toBeCloseTo(distance(from, to), 10);
});

/** The metadata stays, and the tree and data before it are cut. */
function withoutMiddle(bytes: Buffer): Buffer {
  return bytes.subarray(bytes.length - 260);
}
