import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchBrowser } from './harness/chromium.ts';
import { type Server, startServer } from './harness/server.ts';
import { until } from './harness/wait.ts';

/** A link with a sign-in code, in a browser. */
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
  const made = await fetch(`${server.url}/api/sign-in-code`, { method: 'POST', headers });
  const { code } = (await made.json()) as { code: string };

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
  await second.getByLabel('API key').waitFor();
  expect(second.url()).toBe(`${server.url}/`);
  expect(await second.evaluate(() => sessionStorage.getItem('millrace.key'))).toBeNull();
  expect(server.output).not.toContain(code);

  // The key was made for this tab, and goes with it.
  await first.getByRole('button', { name: 'Sign out' }).click();
  await first.getByLabel('API key').waitFor();
  expect(await first.evaluate(() => sessionStorage.getItem('millrace.key'))).toBeNull();
  const isGone = async () => {
    const tokens = await fetch(`${server.url}/api/api-token`, { headers });
    return !((await tokens.json()) as { name: string }[]).some(({ name }) => name === 'Dashboard');
  };
  await until('the key to go', isGone, { within: 10_000 });
});
