import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { start, temporaryFolder } from '../harness/children.ts';
import { type Millrace, millrace } from '../harness/millrace.ts';
import { until } from '../harness/subject.ts';
import { openTab } from './tab.ts';

/** Films among the assets, which have pictures. */
const films = 60;
/** Calls at once while the server is filled. */
const atOnce = 16;

/** What a reader did, and how long the page was busy at most while it followed, ms. */
export interface Stretch {
  readonly what: string;
  readonly longest: number;
  /** The same in time of its thread: what it would be on a machine that does nothing else. */
  readonly longestThread: number;
}

/** Scrolls, filters, sorts and pages through so many assets and events. */
export async function lists(browser: Browser, { rows }: { rows: number }): Promise<Stretch[]> {
  const server = await millrace();
  try {
    await fill(server, rows);
    await using tab = await openTab(browser, { server });
    const { page } = tab;
    await page.addInitScript(noteLongTasks);
    const measured = watch(browser, page);
    await measured.begin();
    await assets(page, { server, measured });
    await events(page, { server, rows, measured });
    return measured.all;
  } finally {
    await server.stop();
  }
}

async function assets(page: Page, { server, measured }: Reading): Promise<void> {
  const rows = page.locator('tbody tr[data-id]');
  const open = async (path: string) => {
    await page.goto(server.url + path);
    await page.getByText(/ in all/).waitFor();
  };
  await open('/dashboard/assets');
  await measured('assets: open the tiles');
  await page.evaluate(scrollThrough);
  await measured('assets: scroll the tiles');
  await open('/dashboard/assets?view=table&rows=1000');
  await measured('assets: open a table of 1000 rows');
  await page.evaluate(scrollThrough);
  await measured('assets: scroll it');
  await page.getByRole('button', { name: 'Name' }).click();
  await page.locator('th[aria-sort=descending]').waitFor();
  await measured('assets: sort it');
  await page.getByRole('searchbox', { name: 'Name' }).fill('77');
  await page.getByRole('link', { name: /77/ }).first().waitFor();
  await measured('assets: filter it');
  await page.getByRole('searchbox', { name: 'Name' }).fill('');
  await page.getByRole('link', { name: 'Next page' }).waitFor();
  const before = await rows.first().textContent();
  await page.getByRole('link', { name: 'Next page' }).click();
  await until('the next page', async () => (await rows.first().textContent()) !== before, {
    within: 10_000,
    every: 50,
  });
  await measured('assets: page it');
  await page.getByRole('checkbox', { name: 'Select all of this page' }).check();
  await page.getByText('1000 selected').waitFor();
  await measured('assets: select 1000');
}

async function events(page: Page, { server, rows, measured }: Reading & { rows: number }): Promise<void> {
  await page.goto(`${server.url}/dashboard/events`);
  await page.locator('tbody tr[data-id]').first().waitFor();
  await measured('events: open');
  const loaded = async () => Number(await page.locator('table.list').getAttribute('aria-rowcount')) - 1;
  const reachEnd = async () => {
    await page.evaluate(scrollThrough);
    return (await loaded()) >= rows;
  };
  await until('all events', reachEnd, { within: 300_000, every: 10 });
  await measured(`events: scroll back through ${await loaded()}`);
  await page.evaluate(() => scrollTo(0, 0));
  await page.getByRole('combobox', { name: 'Type' }).selectOption('asset.created');
  await page.getByRole('link', { name: 'asset.created' }).first().waitFor();
  await measured('events: filter by type');
  await page.getByRole('combobox', { name: 'Type' }).selectOption('');
  await page.getByRole('link', { name: 'task.completed' }).first().waitFor();
  await until('all events again', reachEnd, { within: 300_000, every: 10 });
  await measured('events: scroll back again');
  await page.evaluate(() => scrollTo(0, 0));
  await createAssets(server, { count: 200, name: 'Late' });
  await page.getByText('Late 199').first().waitFor();
  await measured('events: 400 more come');
}

interface Reading {
  readonly server: Millrace;
  readonly measured: ReturnType<typeof watch>;
}

/** Says what was measured since it was called last. */
function watch(browser: Browser, page: Page) {
  const all: Stretch[] = [];
  const begin = () => browser.startTracing(page, { categories: ['toplevel'] });
  const measured = async (what: string) => {
    // The observer hears of a task after its end.
    await Bun.sleep(300);
    const tasks = await page.evaluate(() => (window as Noting).longTasks?.splice(0) ?? []);
    const longestThread = longestTask(JSON.parse((await browser.stopTracing()).toString()) as Trace);
    all.push({ what, longest: Math.max(0, ...tasks), longestThread });
    await begin();
  };
  return Object.assign(measured, { all, begin });
}

/** Of the main threads of tabs, ms of their own time. */
function longestTask({ traceEvents }: Trace): number {
  const mains = traceEvents.filter(
    ({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain',
  );
  const threads = new Set(mains.map(({ pid, tid }) => `${pid} ${tid}`));
  let longest = 0;
  for (const { pid, tid, tdur = 0 } of traceEvents)
    if (tdur > longest && threads.has(`${pid} ${tid}`)) longest = tdur;
  return longest / 1000;
}

interface Trace {
  readonly traceEvents: readonly {
    readonly name: string;
    readonly pid: number;
    readonly tid: number;
    /** Microseconds. */
    readonly tdur?: number;
    readonly args?: { readonly name?: string };
  }[];
}

interface Noting extends Window {
  longTasks?: number[];
}

/** In the page. */
function noteLongTasks(): void {
  const tasks: number[] = [];
  (window as Noting).longTasks = tasks;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) tasks.push(duration);
  }).observe({ type: 'longtask', buffered: true });
}

/** In the page: to the end in steps of most of a window, one a frame, as a turn of the wheel does. */
async function scrollThrough(): Promise<void> {
  const end = () => document.documentElement.scrollHeight - innerHeight;
  for (let at = scrollY; at < end(); at = Math.min(end(), at + innerHeight * 0.8)) {
    scrollTo(0, at);
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
  scrollTo(0, end());
  await new Promise((resolve) => setTimeout(resolve, 50));
}

/** Each asset is one event, and its task another. */
async function fill(server: Millrace, rows: number): Promise<void> {
  await createAssets(server, { count: rows - films, name: 'Film' });
  const folder = temporaryFolder();
  const file = join(folder.path, 'short.mp4');
  const ffmpeg = start(
    [
      'ffmpeg -hide_banner -loglevel error -y -f lavfi -i testsrc2=size=320x180:rate=25:duration=2',
      `-pix_fmt yuv420p -c:v libx264 -preset ultrafast ${file}`,
    ].flatMap((line) => line.split(' ')),
  );
  if ((await ffmpeg.exited) !== 0) throw new Error(`ffmpeg made no film: ${ffmpeg.output}`);
  const urls = await createAssets(server, { count: films, name: 'Picture' });
  for (const url of urls) {
    const answer = await fetch(url, { method: 'PUT', body: Bun.file(file) });
    if (!answer.ok) throw new Error(`PUT ${url}: ${answer.status}`);
  }
  folder.remove();
}

async function createAssets(server: Millrace, { count, name }: { count: number; name: string }) {
  const urls: string[] = [];
  let next = 0;
  const work = async () => {
    while (next < count) {
      const number = next++;
      const answer = await server.call('POST', '/api/asset/request-upload', { name: `${name} ${number}` });
      if (!answer.ok) throw new Error(`request-upload: ${answer.status} ${await answer.text()}`);
      urls.push(((await answer.json()) as { url: string }).url);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return urls;
}
