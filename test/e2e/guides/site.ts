import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { root } from '../harness/server.ts';

/** Serves pages on an origin of its own. */
export interface Site extends AsyncDisposable {
  readonly url: string;
  /** Answers the address of a new page. */
  publish(html: string): string;
  /** The address of a new script. */
  publishScript(text: string): string;
}

export function startSite(): Site {
  const files = new Map<string, { text: string; type: string }>();
  const server = Bun.serve({
    ...{ port: 0, hostname: '127.0.0.1' },
    fetch({ url }) {
      const { pathname } = new URL(url);
      if (pathname === '/favicon.ico') return new Response(null, { status: 204 });
      const found = files.get(pathname);
      if (!found) return new Response(null, { status: 404 });
      return new Response(found.text, { headers: { 'content-type': found.type } });
    },
  });
  const publish = (text: string, type: string) => {
    const path = `/${files.size}`;
    files.set(path, { text, type });
    return new URL(path, server.url).href;
  };
  return {
    url: server.url.origin,
    publish: (html) =>
      publish(`<!doctype html><html lang="en"><title>Guide</title>${html}`, 'text/html; charset=utf-8'),
    publishScript: (text) => publish(text, 'text/javascript'),
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

/** A tab on a page of the site. What it loads from the CDN comes from node_modules; nothing comes from other hosts. */
export interface Tab extends AsyncDisposable {
  readonly page: Page;
  /** Exceptions, and requests to hosts that are not of this test. */
  readonly complaints: readonly string[];
}

/** Far more than a busy machine needs, ms. */
export const patience = 90_000;

export async function openTab(browser: Browser, url: string): Promise<Tab> {
  const context = await browser.newContext({ viewport: { width: 400, height: 300 } });
  const complaints: string[] = [];
  await serveCdn(context, complaints);
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(url);
  return { page, complaints, [Symbol.asyncDispose]: () => context.close() };
}

const cdn = 'https://cdn.jsdelivr.net/npm/';
const types: Record<string, string> = { js: 'text/javascript', css: 'text/css', mjs: 'text/javascript' };

async function serveCdn(context: BrowserContext, complaints: string[]): Promise<void> {
  await context.route(
    ({ hostname }) => hostname !== '127.0.0.1' && hostname !== 'localhost',
    async (route) => {
      const url = route.request().url();
      const file = url.startsWith(cdn) ? fileOf(url.slice(cdn.length)) : undefined;
      if (!file) complaints.push(`asked for ${url}`);
      if (!file) return route.abort();
      return route.fulfill({ path: file, contentType: types[file.split('.').at(-1) ?? ''] });
    },
  );
}

const folders = [join(root, 'node_modules'), join(root, 'test/clients/node_modules')];

/** `video.js@8/dist/video.min.js` in node_modules or among the clients of other platforms, if they have this major version. */
function fileOf(path: string): string | undefined {
  const [, name = '', major, file = ''] = /^((?:@[^/]+\/)?[^@/]+)@(\d+)\/(.+)$/.exec(path) ?? [];
  const folder = folders.map((one) => join(one, name)).find((one) => existsSync(join(one, file)));
  if (!name || folder === undefined) return undefined;
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  return version.split('.')[0] === major ? join(folder, file) : undefined;
}
