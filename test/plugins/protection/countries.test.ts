import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { allPlugins } from '../../kit/all-plugins.ts';
import { mmdb } from '../../kit/mmdb.ts';
import { world } from '../../kit/world.ts';

const plugins = await allPlugins();
let folder: string;
let database: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-countries-'));
  database = join(folder, 'countries.mmdb');
  await writeFile(
    database,
    mmdb({
      '192.0.2.0/25': { country: { iso_code: 'DE' } },
      '192.0.2.128/25': { country: { iso_code: 'FR' }, location: { latitude: 48.85, longitude: 2.35 } },
      '198.51.100.0/24': { country: { iso_code: '<b>' } },
      '203.0.113.0/24': { location: { latitude: 48.85, longitude: 2.35 } },
      '2001:db8::/32': { country: { iso_code: 'DE' } },
    }),
  );
});
afterAll(() => rm(folder, { recursive: true }));

it('knows where viewers are by the database of the deployment', async () => {
  await using w = await world({ plugins, config: { ingest: { database } } });
  const { playbackId } = await w.given.stream({ playbackPolicy: { type: 'public', countries: ['DE'] } });
  const check = async (ip?: string) =>
    (await w.request('POST', `/api/playback/${playbackId}/check`, { body: ip === undefined ? {} : { ip } }))
      .body;
  for (const ip of ['192.0.2.7', '2001:db8::1', '::ffff:192.0.2.7'])
    expect([ip, await check(ip)]).toEqual([ip, { allowed: true }]);
  for (const ip of ['192.0.2.200', '198.51.100.1', '203.0.113.1', '10.0.0.1', undefined])
    expect([ip, (await check(ip)).rule]).toEqual([ip, 'country']);
  expect((await check('192.0.2.200')).reason).toBe('Viewers in FR may not play this.');
});

it.each([
  ['without a database', {}],
  ['without the plugin', { isOff: true }],
])('refuses a policy with countries %s', async (_name, { isOff = false }: { isOff?: boolean }) => {
  await using w = await world({ plugins: plugins.filter(({ id }) => !(isOff && id === 'ingest')) });
  const body = { name: 'a', playbackPolicy: { type: 'public', countries: ['DE'] } };
  const { status, body: answer } = await w.request('POST', '/api/stream', { body });
  expect(status).toBe(422);
  expect(answer.errors[0]).toContain('plugins.ingest.database');
});
