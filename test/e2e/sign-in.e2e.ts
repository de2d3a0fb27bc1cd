import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchBrowser } from './harness/chromium.ts';
import { openReader } from './harness/dashboard-reader.ts';
import { broadcast } from './harness/ffmpeg.ts';
import { type Server, startServer } from './harness/server.ts';
import { until } from './harness/wait.ts';

/** A link with a sign-in code, in a browser, and what ends or misleads a reader. */
let browser: Browser;
let server: Server;

beforeAll(async () => {
  [browser, server] = await Promise.all([launchBrowser(), startServer()]);
});
afterAll(async () => {
  await browser?.close();
  await server?.[Symbol.asyncDispose]();
});

const open = async (path: string): Promise<Page> => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${server.url}${path}`);
  return page;
};

it('signs in once, and leaves no code in the address', async () => {
  const headers = { authorization: `Bearer ${server.key}` };
  const answer = await fetch(`${server.url}/api/sign-in-code`, { method: 'POST', headers });
  const { code } = (await answer.json()) as { code: string };

  const first = await open(`/#sign-in=${code}`);
  await first.getByRole('navigation').first().waitFor();
  expect(first.url()).toBe(`${server.url}/`);
  const key = await first.evaluate(() => sessionStorage.getItem('millrace.key'));
  expect(key).toMatch(/^mr_/);
  const current = await fetch(`${server.url}/api/api-token/current`, {
    headers: { authorization: `Bearer ${key}` },
  });
  expect(await current.json()).toMatchObject({ name: 'Dashboard', isAdmin: true });
  await first.reload();
  await first.getByRole('navigation').first().waitFor();

  const second = await open(`/#sign-in=${code}`);
  await second.getByRole('alert').filter({ hasText: 'This sign-in code does not work' }).waitFor();
  await second.getByLabel('API key').waitFor();
  expect(second.url()).toBe(`${server.url}/`);
  expect(await second.evaluate(() => sessionStorage.getItem('millrace.key'))).toBeNull();
  expect(server.output).not.toContain(code);

  // The key was made for this tab, and goes with it, but not before what is still to be done with it.
  const hook = await made('/api/webhook', {
    name: 'Hook',
    url: 'https://a.example.com/',
    events: ['stream.idle'],
  });
  await first.goto(`${server.url}/dashboard/webhook/${hook.id}`);
  await first.getByRole('button', { name: 'Delete' }).click();
  await first.getByRole('button', { name: 'Sign out' }).click();
  await first.getByLabel('API key').waitFor();
  expect(await first.evaluate(() => sessionStorage.getItem('millrace.key'))).toBeNull();
  const isGone = async () => {
    const tokens = await fetch(`${server.url}/api/api-token`, { headers });
    return !((await tokens.json()) as { name: string }[]).some(({ name }) => name === 'Dashboard');
  };
  await until('the key to go', isGone, { within: 10_000 });
  expect((await server.api.request('GET', `/api/webhook/${hook.id}`)).status).toBe(404);
});

async function made(path: string, body: object): Promise<{ id: string; key: string }> {
  const answer = await server.api.request('POST', path, body);
  expect([path, answer.ok]).toEqual([path, true]);
  return (await answer.json()) as { id: string; key: string };
}

/** A sign-in code, and a key, of an account of its own. */
async function stranger() {
  const account = await made('/api/account', { name: 'Stranger' });
  const token = await made('/api/api-token', { accountId: account.id });
  const headers = { authorization: `Bearer ${token.key}` };
  const answer = await fetch(`${server.url}/api/sign-in-code`, { method: 'POST', headers });
  const { code } = (await answer.json()) as { code: string };
  const keys = async () =>
    (await (await fetch(`${server.url}/api/api-token`, { headers })).json()) as unknown[];
  return { code, keys };
}

it('asks a reader before a link takes them to another account', async () => {
  const { code, keys } = await stranger();
  await using reader = await openReader(browser, { server });
  const { page } = reader;
  await reader.open('/dashboard/streams', 'Streams');
  const asked: string[] = [];
  page.on('dialog', (dialog) => {
    asked.push(dialog.message());
    void dialog.dismiss();
  });
  await page.goto(`${server.url}/?x#sign-in=${code}`);
  await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
  expect(asked).toEqual([expect.stringContaining('another account')]);
  expect(await page.evaluate(() => sessionStorage.getItem('millrace.key'))).toBe(server.key);
  // The key that the link made is gone again.
  expect(await keys()).toHaveLength(1);
});

it('says to a reader of a page that only listens that the key was deleted', async () => {
  const token = await made('/api/api-token', { name: 'Short' });
  await using reader = await openReader(browser, { server, key: token.key });
  await reader.open('/dashboard/events', 'Events');
  await reader.page.getByText('Following').waitFor();
  await server.api.request('DELETE', `/api/api-token/${token.id}`);
  await reader.page.getByRole('alert').filter({ hasText: 'no longer works' }).waitFor();
  await reader.page.getByLabel('API key').waitFor();
});

it('takes no path from the place of an id', async () => {
  const stream = await server.api.createStream({ name: 'Not an asset' });
  await using reader = await openReader(browser, { server });
  const { page } = reader;
  const other = encodeURIComponent(`../stream/${stream.id}`);
  const paths = [
    `asset/${other}`,
    `stream/${stream.id}%3Fx=$(id)`,
    'stream/%E0%A4%A',
    'constructor',
    '__proto__',
  ];
  for (const path of paths) await reader.open(`/dashboard/${path}`, 'Not found');
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await page.goto(`${server.url}/dashboard/go-live?stream=${encodeURIComponent('../api-token')}`);
  await page.getByText('There is nothing of this id.').waitFor();
  expect(asked).not.toContain('/api/api-token');
  for (const path of ['watch', 'embed']) {
    await page.goto(`${server.url}/${path}/%E0%A4%A`);
    await page.getByText('There is no video at this address.').waitFor();
  }
  expect(reader.complaints.filter((text) => !text.includes('404'))).toEqual([]);
});

it('shows a refused encoder and ages to a reader whose clock is an hour ahead', async () => {
  const stream = await server.api.createStream({ name: 'Clock' });
  await using encoder = broadcast(server.ingestUrl('abcd-efgh-ijkl-3f9a'));
  await encoder.ended({ within: 15_000 });
  await using reader = await openReader(browser, { server });
  await reader.context.addInitScript(() => {
    const RealDate = Date;
    globalThis.Date = class extends RealDate {
      constructor(...given: [number]) {
        super(...(given.length > 0 ? given : ([RealDate.now() + 3_600_000] as [number])));
      }
      static override now() {
        return RealDate.now() + 3_600_000;
      }
    } as DateConstructor;
  });
  await reader.open(`/dashboard/go-live?stream=${stream.id}`, 'Go live');
  await reader.page.getByText('was refused: This stream key is unknown').waitFor();
  await reader.open('/dashboard/streams', 'Streams');
  await reader.page
    .getByRole('cell', { name: /second/ })
    .first()
    .waitFor();
});

it('opens a page by itself when the server is back, and the page that was asked for last', async () => {
  await using reader = await openReader(browser, { server });
  const { page } = reader;
  await reader.open('/', 'Home');
  const go = (name: string) => page.getByRole('link', { name, exact: true }).first().click();
  await page.route(/\/pages\/tasks\.js/, (route) => route.abort());
  await go('Tasks');
  await page.getByText('This page did not load.').waitFor();
  await page.unroute(/\/pages\/tasks\.js/);
  await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor();

  const held = Promise.withResolvers<void>();
  await page.route(/\/pages\/assets\.js/, async (route) => {
    await held.promise;
    await route.continue();
  });
  await go('Assets');
  await go('Streams');
  await page.getByRole('heading', { level: 1, name: 'Streams' }).waitFor();
  const arrived = page.waitForResponse(/\/pages\/assets\.js/);
  held.resolve();
  await arrived;
  await page.waitForTimeout(300);
  await page.getByRole('heading', { level: 1, name: 'Streams' }).waitFor({ timeout: 1000 });
});

it('fits a phone however long the names are', async () => {
  const name = 'n'.repeat(500);
  const { id } = await server.api.createStream({ name });
  await made('/api/asset/request-upload', { name });
  await using reader = await openReader(browser, { server, width: 390 });
  const pages = { '/': 'Home', [`/dashboard/go-live?stream=${id}`]: 'Go live' };
  for (const [path, title] of [
    ...Object.entries(pages),
    [`/dashboard/stream/${id}?tab=targets`, name] as const,
  ]) {
    await reader.open(path, title);
    await reader.page.getByText(name).first().waitFor({ state: 'attached' });
    expect([path, await reader.page.evaluate(() => document.documentElement.scrollWidth)]).toEqual([
      path,
      390,
    ]);
  }
});

it('does what a reader was told, though they leave or sign out at once', async () => {
  const spec = { name: 'Elsewhere', url: 'rtmp://a.example.com/app/key' };
  const stream = await server.api.createStream({
    name: 'Targets',
    multistream: { targets: [{ profile: 'source', spec }] },
  });
  const hook = await made('/api/webhook', {
    name: 'Hook',
    url: 'https://a.example.com/',
    events: ['stream.idle'],
  });
  const statusOf = async (path: string) => (await server.api.request('GET', path)).status;
  await using reader = await openReader(browser, { server });
  const { page } = reader;
  await reader.open(`/dashboard/stream/${stream.id}?tab=targets`, 'Targets');
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByText('Target removed').waitFor();
  await page.goto(`${server.url}/health/live`);
  await until('the target to be gone', async () => (await targetsOf(stream.id)) === 0, { within: 5000 });

  await reader.open(`/dashboard/webhook/${hook.id}`, 'Hook');
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('API key').waitFor();
  await page.goto(`${server.url}/health/live`);
  const path = `/api/webhook/${hook.id}`;
  await until('the webhook to be gone', async () => (await statusOf(path)) === 404, { within: 5000 });
});

it('leaves nothing of an upload to whoever uses the browser after a sign-out', async () => {
  await using reader = await openReader(browser, { server });
  const { page } = reader;
  await reader.context.addInitScript(() => {
    const url = '/upload/a/tus/b?signature=secret';
    const upload = { id: 'u', name: 'private.mp4', size: 10, sent: 5, url, until: Date.now() + 60_000 };
    localStorage.setItem('millrace.uploads', JSON.stringify([upload]));
  });
  await reader.open('/', 'Home');
  await page.getByText('private.mp4').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('API key').waitFor();
  expect(await page.evaluate(() => localStorage.getItem('millrace.uploads'))).toBe('[]');
  await page.getByLabel('API key').fill(server.key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
  expect(await page.getByText('private.mp4').count()).toBe(0);
});

async function targetsOf(id: string): Promise<number> {
  const stream = (await server.api.getStream(id)) as unknown as { multistream: { targets: unknown[] } };
  return stream.multistream.targets.length;
}

it('copies a secret that is shown once on a page without a clipboard, too', async () => {
  await using reader = await openReader(browser, { server });
  const { page } = reader;
  await reader.context.addInitScript(() => {
    // As on plain HTTP at an address of the network.
    Object.defineProperty(Navigator.prototype, 'clipboard', { get: () => undefined });
    addEventListener('copy', () => {
      const area = document.activeElement as HTMLTextAreaElement;
      document.documentElement.dataset.copied = area?.value ?? '';
    });
  });
  await reader.open('/dashboard/keys', 'API keys');
  await page.getByRole('button', { name: 'Create a key' }).first().click();
  await page.getByLabel('Name').last().fill('Copied');
  await page.getByLabel('Everything that you may do').check();
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  const key = await page.locator('dialog code').filter({ hasText: /^mr_/ }).textContent();
  await page.getByRole('button', { name: 'Copy the key' }).click();
  await page.getByText('Copied', { exact: true }).first().waitFor();
  expect(await page.evaluate(() => document.documentElement.dataset.copied)).toBe(key);
});
