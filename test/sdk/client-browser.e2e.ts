import { join } from 'node:path';
import { expect, it } from 'vitest';
import { launchBrowser } from '../e2e/harness/chromium.ts';
import { startServer } from '../e2e/harness/server.ts';
import { packed } from '../package/packed.ts';

/** What the page of another origin does with the client, whose modules are loaded as npm delivers them. */
const script = `
import { MillraceError, millrace } from '/client/index.js';
const { baseUrl, key } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const client = millrace({ baseUrl, key });
const stop = new AbortController();
const events = client.events({ type: 'task.spawned', signal: stop.signal });
const heard = events.next();
const { id } = await client.createStream({ body: { name: 'From a page' } });
await client.changeStream({ id, body: { record: true } });
// The stream of events may be open only now: it is asked for again and again.
const asking = setInterval(() => client.requestUpload({ body: { name: 'film' } }), 200);
const event = (await heard).value.event;
clearInterval(asking);
stop.abort();
const pages = [];
for await (const page of client.pages('listStreams', { query: { limit: 1 } })) pages.push(page.length);
const error = await client.getStream({ id: 'none' }).catch((error) => error);
window.seen = { event, pages, record: (await client.getStream({ id })).record, code: error.code, isOurs: error instanceof MillraceError };
`;

it('works in a page of another origin', async () => {
  const { folder } = await packed();
  const modules = join(folder, 'node_modules/millrace/dist/client');
  using site = Bun.serve({
    ...{ port: 0, hostname: '127.0.0.1' },
    fetch(request) {
      const { pathname } = new URL(request.url);
      if (pathname.startsWith('/client/')) return new Response(Bun.file(join(modules, pathname.slice(8))));
      const html = `<!doctype html><script type="module">${script}</script>`;
      return new Response(html, { headers: { 'content-type': 'text/html' } });
    },
  });
  await using server = await startServer();
  const origin = `http://127.0.0.1:${site.port}`;
  const created = await fetch(`${server.url}/api/api-token`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.key}` },
    body: JSON.stringify({ name: 'page', access: { cors: { allowedOrigins: [origin] } } }),
  });
  const { key } = (await created.json()) as { key: string };
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(String(error)));
    await page.goto(`${origin}/#${new URLSearchParams({ baseUrl: server.url, key })}`);
    const seen = await page
      .waitForFunction(() => (window as unknown as { seen: unknown }).seen, undefined, { timeout: 30_000 })
      .then((handle) => handle.jsonValue())
      .catch((error: unknown) => `${error}; the page: ${complaints.join('; ')}`);
    expect(seen).toEqual({
      ...{ event: 'task.spawned', pages: [1], record: true, code: 'stream.not_found', isOurs: true },
    });
  } finally {
    await browser.close();
  }
}, 600_000);
