import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { violationsOf } from './axe.ts';
import type { Server } from './server.ts';

/** A reader of the dashboard: one tab, signed in. */
export interface Reader extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Opens a page of the dashboard and waits for its title. */
  open(path: string, title: string | RegExp): Promise<void>;
  /** What the browser complained about: exceptions, `console.error`, broken policies, requests to other hosts. */
  readonly complaints: readonly string[];
  /** Violations that axe calls serious or critical, on the page or in a part of it. */
  violations(within?: Locator): Promise<string[]>;
}

export async function openReader(
  browser: Browser,
  { server, key = server.key, theme = 'light', width = 1280 }: ReaderOptions,
): Promise<Reader> {
  const context = await browser.newContext({ colorScheme: theme, viewport: { width, height: 860 } });
  // What a sign-in leaves behind.
  await context.addInitScript((signedIn) => sessionStorage.setItem('millrace.key', signedIn), key);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (line) => {
    const text = `${line.text()} (${line.location().url})`;
    // A busy machine makes no picture, and the page asks for it again.
    if (line.type() === 'error' && !/ 503 .*\/thumbnail\.jpg\)$/.test(text)) complaints.push(text);
  });
  page.on('request', (request) => {
    const { protocol, host } = new URL(request.url());
    if (protocol.startsWith('http') && host !== new URL(server.url).host) complaints.push(request.url());
  });
  return {
    page,
    context,
    complaints,
    async open(path, title) {
      await page.goto(server.url + path);
      await page.getByRole('heading', { level: 1, name: title }).waitFor();
    },
    violations: (within) => violationsOf(page, within),
    [Symbol.asyncDispose]: () => context.close(),
  };
}

interface ReaderOptions {
  readonly server: Server;
  readonly key?: string;
  readonly theme?: 'light' | 'dark';
  readonly width?: number;
}
