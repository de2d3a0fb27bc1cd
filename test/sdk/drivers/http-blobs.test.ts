import { definePlugin } from 'millrace/plugin';
import { allPlugins, blobsConformance, world } from 'millrace/testing';
import { afterAll, describe, expect, it, test } from 'vitest';
import { httpBlobServer } from './http-blob-server.ts';
import plugin, { httpBlobs } from './http-blobs.ts';

const server = httpBlobServer();
afterAll(() => server.stop());

describe('a driver for blobs that a plugin brings', () => {
  const checks = blobsConformance(() => httpBlobs(server.url), { adopting: 'copy' });
  test.each([...checks])('$name', { timeout: 60_000 }, (check) => check.run());

  const config = { 'http-blobs': { url: server.url } };
  const drivers = { blobs: 'http-blobs' };

  it('keeps the files of the program', async () => {
    await using w = await world({ plugins: [...(await allPlugins()), plugin], config, drivers });
    await w.blobs.put('notes/first.txt', Buffer.from('kept elsewhere'));
    const other = httpBlobs(server.url);
    const got = await other.get('notes/first.txt');
    expect(got.outcome === 'ok' && (await new Response(got.body).text())).toBe('kept elsewhere');
    await other.close();
  });

  it.each([
    ['an unknown plugin', 'htp-blobs', /no plugin htp-blobs is enabled.*did you mean http-blobs\?/],
    ['a plugin without one', 'streams', /plugin streams brings no driver for blobs/],
  ])('is refused by name: %s', async (_, blobs, problem) => {
    const plugins = [...(await allPlugins()), plugin];
    await expect(world({ plugins, config, drivers: { blobs } })).rejects.toThrow(problem);
  });

  it('is the only one that a plugin can bring', async () => {
    const wrong = definePlugin({
      ...{ id: 'pg', summary: 'a store', contract: 3 },
      drivers: { store: () => {} } as never,
    });
    await expect(world({ plugins: [wrong] })).rejects.toThrow(
      /plugin pg: brings a driver for store; plugins can bring drivers for blobs only, because store, bus and jobs commit together/,
    );
  });

  it('names the plugin whose driver throws or is none', async () => {
    const bringing = (blobs: () => unknown) =>
      world({
        plugins: [definePlugin({ id: 'half', summary: 'half', drivers: { blobs: blobs as never } })],
        drivers: { blobs: 'half' },
      });
    await expect(bringing(() => Promise.reject(new Error('no bucket')))).rejects.toThrow(
      'the driver for blobs of plugin half could not be made: no bucket',
    );
    await expect(bringing(() => ({ open() {} }))).rejects.toThrow(/the result lacks put, adopt/);
  });
});
