import { gzipSync } from 'node:zlib';
import type { Browser } from 'playwright-core';
import { millrace } from '../harness/millrace.ts';
import { openTab } from './tab.ts';

export interface FirstLoad {
  /** ms from the start of the navigation, one a load. */
  readonly painted: readonly number[];
  readonly interactive: readonly number[];
  /** Of all that was loaded until then but hls.js, by gzip; and in how many answers. */
  readonly bytes: number;
  readonly answers: number;
}

/** The home page with a stream, `loads` times in a browser that has nothing of it in its cache. */
export async function firstLoad(browser: Browser, { loads }: { loads: number }): Promise<FirstLoad> {
  const server = await millrace({ streams: 1 });
  const [painted, interactive]: [number[], number[]] = [[], []];
  let sizes = new Map<string, number>();
  try {
    for (let load = 0; load < loads; load += 1) {
      await using tab = await openTab(browser, { server });
      const { page } = tab;
      const read: Promise<void>[] = [];
      sizes = new Map();
      page.on('response', (response) => {
        const { pathname } = new URL(response.url());
        // A stream of events has no end.
        if (pathname === '/api/events' || pathname.endsWith('/hls.js')) return;
        const measure = async () => void sizes.set(pathname, gzipSync(await response.body()).length);
        read.push(measure().catch(() => undefined));
      });
      await page.addInitScript(noteWhenItIsThere);
      await page.goto(server.url);
      await page.waitForFunction(() => (window as Noted).thereAt !== undefined);
      const at = await page.evaluate(() => {
        const paint = performance.getEntriesByName('first-contentful-paint')[0];
        return { painted: paint?.startTime ?? Number.NaN, there: (window as Noted).thereAt ?? Number.NaN };
      });
      painted.push(at.painted);
      interactive.push(at.there);
      await Promise.all(read);
    }
  } finally {
    await server.stop();
  }
  const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  return { painted, interactive, bytes, answers: sizes.size };
}

interface Noted extends Window {
  thereAt?: number;
}

/** In the page: when the answers of the API are on it, so that each control works; after the frame that shows them. */
function noteWhenItIsThere(): void {
  const look = () => {
    const isThere =
      document.querySelector('.page h1') &&
      /Nothing is on the air|Broadcast for the first time/.test(document.body.textContent ?? '');
    if (!isThere) return requestAnimationFrame(look);
    return setTimeout(() => ((window as Noted).thereAt = performance.now()));
  };
  addEventListener('DOMContentLoaded', look);
}
