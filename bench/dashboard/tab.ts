import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { Millrace } from '../harness/millrace.ts';

export interface Tab extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
}

/** A tab with nothing in its cache, signed in. */
export async function openTab(browser: Browser, { server }: { server: Millrace }): Promise<Tab> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
  await context.addInitScript((key) => sessionStorage.setItem('millrace.key', key), server.key);
  return { page: await context.newPage(), context, [Symbol.asyncDispose]: () => context.close() };
}
