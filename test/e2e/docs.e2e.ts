import { expect, test } from 'vitest';
import { launchBrowser } from './harness/chromium.ts';
import { startServer } from './harness/server.ts';

test('the reference is searched, read, and tried with a key, and nothing comes from elsewhere', async () => {
  await using server = await startServer();
  await using browser = await launchBrowser();
  const page = await browser.newPage();
  const complaints: string[] = [];
  const elsewhere: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (line) => line.type() === 'error' && complaints.push(line.text()));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(server.url) && !url.startsWith('data:')) elsewhere.push(url);
  });

  await page.goto(`${server.url}/docs`);
  const shown = () => page.locator('details.route:visible').count();
  await page.waitForSelector('details.route');
  const all = await shown();
  await page.fill('#search', 'rotate');
  expect([all > 25, await shown()]).toEqual([true, 1]);
  await page.fill('#search', 'target.busy');
  expect(await shown()).toBe(2);
  await page.fill('#search', 'no such thing');
  expect(await page.isVisible('#none')).toBe(true);
  await page.fill('#search', '');

  await page.fill('#key', server.key);
  await page.click('a[href="#createStream"]');
  const route = page.locator('#createStream');
  await route.locator('textarea').fill('{"name": "From the page"}');
  await route.locator('button').click();
  await route.locator('.answer strong').waitFor();
  expect(await route.locator('.answer strong').textContent()).toBe('201 Created');
  expect(await route.locator('.answer').textContent()).toContain('From the page');
  expect(await route.textContent()).toContain('renditions.invalid');

  expect([complaints, elsewhere]).toEqual([[], []]);
});

test('a plugin that is off is not in it', async () => {
  await using server = await startServer({
    env: { MILLRACE_PLUGINS: '{"multistream": false, "docs": false}' },
  });
  const document = await (await server.api.request('GET', '/openapi.json')).text();
  // A webhook may name events that nothing emits.
  const text = document.replaceAll(/"multistream\.[a-z]+"/g, '');
  expect(text).toContain('/api/stream');
  expect(text).not.toContain('ultistream');
  expect((await server.api.request('GET', '/docs')).status).toBe(404);
});
