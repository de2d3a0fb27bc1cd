import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchBrowser } from './harness/chromium.ts';
import { openReader } from './harness/dashboard-reader.ts';
import { type Server, startServer } from './harness/server.ts';
import { until } from './harness/wait.ts';

/** Long lists of the dashboard. */
let browser: Browser;
let server: Server;

beforeAll(async () => {
  [browser, server] = await Promise.all([launchBrowser(), startServer()]);
});
afterAll(async () => {
  await browser?.close();
  await server?.[Symbol.asyncDispose]();
});

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });

it('selects many, deletes them and undoes that, and keeps the page of a long list short', async () => {
  const many = 205;
  await server.api.request('POST', '/api/asset/request-upload', { name: 'Kept' });
  for (let n = 0; n < many; n += 1)
    await server.api.request('POST', '/api/asset/request-upload', { name: `Batch ${n}` });
  await using reader = await openReader(browser, { server });
  const { page } = reader;
  const all = '/dashboard/assets?view=table&filter.name=Batch&order=name-false';
  await reader.open(`${all}&rows=1000`, 'Assets');
  await page.getByText(`${many} in all`).waitFor();
  const rows = page.locator('tbody tr[data-id]');
  // Names are sorted as text.
  await page.getByRole('link', { name: 'Batch 0', exact: true }).waitFor();
  expect(await rows.count()).toBeLessThan(100);
  const height = () => page.evaluate(() => document.documentElement.scrollHeight);
  const before = await height();
  expect(before).toBeGreaterThan(many * 32);
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
  await page.getByRole('link', { name: 'Batch 99', exact: true }).waitFor();
  expect(await page.getByRole('link', { name: 'Batch 0', exact: true }).count()).toBe(0);
  expect(await height()).toBe(before);
  expect(await reader.violations()).toEqual([]);

  await page.evaluate(() => scrollTo(0, 0));
  await page.getByRole('link', { name: 'Batch 0', exact: true }).waitFor();
  for (const key of ['j', 'x', 'j', 'x', 'j']) await page.keyboard.press(key);
  await page.getByText('2 selected').waitFor();
  await page.getByRole('checkbox', { name: 'Select Batch 101' }).check();
  expect(await reader.violations()).toEqual([]);
  await button(page, 'Delete').click();
  await page.getByText('3 assets are deleted.').waitFor();
  expect(await page.getByRole('checkbox', { name: 'Select Batch 0', exact: true }).count()).toBe(0);
  await button(page, 'Undo').click();
  await page.getByRole('checkbox', { name: 'Select Batch 0', exact: true }).waitFor();

  await page.getByText('Columns', { exact: true }).click();
  await page.getByRole('checkbox', { name: 'Length' }).uncheck();
  await page.getByRole('checkbox', { name: 'Select all of this page' }).check();
  await page.getByText(`${many} selected`).waitFor();
  await button(page, 'Delete').click();
  await page.getByText(`${many} assets are deleted.`).waitFor();
  // Whoever leaves the page has not undone it.
  await reader.open(all, 'Assets');
  const filters = encodeURIComponent(JSON.stringify([{ id: 'name', value: 'Batch' }]));
  const left = async () => (await server.api.request('GET', `/api/asset?filters=${filters}`)).text();
  await until('all to go', async () => (await left()) === '[]', { within: 20_000 });
  await reader.open('/dashboard/assets?view=table', 'Assets');
  await page.getByRole('columnheader', { name: 'Size' }).waitFor();
  expect(await page.getByRole('columnheader', { name: 'Length' }).count()).toBe(0);
  expect(reader.complaints).toEqual([]);
});
