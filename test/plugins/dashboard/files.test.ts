import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { allPlugins } from '../../kit/all-plugins.ts';
import { world } from '../../kit/world.ts';

it('names the modules of a page in it, so that a browser loads them at once', async () => {
  await using w = await world({ plugins: await allPlugins() });
  const get = async (path: string) => {
    const answer = await w.app.handle(new Request(`http://localhost:8080${path}`));
    return { answer, text: await answer.text() };
  };
  const preloaded = async (path: string) =>
    [...(await get(path)).text.matchAll(/rel="modulepreload" href="([^"]+)"/g)].map(([, url = '']) => url);
  const home = await preloaded('/');
  expect(home).toContain('/dashboard/app/pages/home.js');
  expect(home).not.toContain('/dashboard/app/pages/assets.js');
  const assets = await preloaded('/dashboard/assets?view=table');
  expect(assets).toContain('/dashboard/app/pages/assets.js');
  expect(await preloaded('/dashboard/nowhere')).not.toContain('/dashboard/app/pages/nowhere.js');
  for (const urls of [home, assets]) {
    expect(new Set(urls).size).toBe(urls.length);
    for (const url of urls) {
      const { answer, text } = await get(url);
      expect([url, answer.status]).toEqual([url, 200]);
      // Only what is needed at once: these are loaded when somebody plays or uploads.
      expect(url).not.toMatch(/vendor\/(hls|tus|uplot)/);
      const own = [...text.matchAll(/^import .* from '(\.[^']+)';$/gm)].map(
        ([, to = '']) => new URL(to, `http://x${url}`),
      );
      for (const { pathname } of own) expect(urls).toContain(pathname);
    }
    for (const name of ['preact', 'signals-core', 'htm'])
      expect(urls).toContain(`/dashboard/app/vendor/${name}.js`);
    expect(urls).toContain('/dashboard/app/client/request.ts');
  }
});

it('sends a file compressed, and not again while the browser has it', async () => {
  await using w = await world({ plugins: await allPlugins() });
  const get = (headers: Record<string, string>) =>
    w.app.handle(new Request('http://localhost:8080/dashboard/app/lib/list.js', { headers }));
  const plain = await get({});
  const source = await plain.text();
  const compressed = await get({ 'accept-encoding': 'gzip, br' });
  expect(compressed.headers.get('content-encoding')).toBe('gzip');
  expect(compressed.headers.get('vary')).toBe('Accept-Encoding');
  const bytes = new Uint8Array(await compressed.arrayBuffer());
  expect(bytes.length).toBeLessThan(source.length / 2);
  expect(gunzipSync(bytes).toString()).toBe(source);
  const etag = compressed.headers.get('etag') ?? '';
  expect(etag).not.toBe(plain.headers.get('etag'));
  const again = await get({ 'accept-encoding': 'gzip, br', 'if-none-match': etag });
  expect(again.status).toBe(304);
  expect(await again.text()).toBe('');
  expect((await get({ 'if-none-match': etag })).status).toBe(200);
});
