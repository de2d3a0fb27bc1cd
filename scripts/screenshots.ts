/**
 * Takes pictures of every page of the dashboard and the player, on servers with real broadcasts and films, and prints what
 * is wrong with their layout: shifts, parts wider than the window, complaints of the browser; with `--axe` violations too.
 *
 *     npm run screenshots -- --out /tmp/shots --pages 'home|stream' --widths 390,1280 --themes dark
 *
 * `--scene FILE`: of `test/e2e/harness/scene-main.ts`, in place of servers of its own.
 */
import { mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { violationsOf } from '../test/e2e/harness/axe.ts';
import { launchBrowser } from '../test/e2e/harness/chromium.ts';
import { openScene, type Scene } from '../test/e2e/harness/scene.ts';

const { values: options } = parseArgs({
  options: {
    out: { type: 'string', default: '/tmp/millrace-screenshots' },
    pages: { type: 'string', default: '.' },
    widths: { type: 'string', default: '390,1280,1920' },
    themes: { type: 'string', default: 'light,dark' },
    scene: { type: 'string' },
    axe: { type: 'boolean', default: false },
  },
});

type Ids = Scene['ids'];
interface Shot {
  readonly name: string;
  readonly path: (ids: Ids) => string;
  readonly on?: 'full' | 'empty' | 'bare';
  /** Before the picture is taken. */
  readonly act?: (page: Page, ids: Ids) => Promise<unknown>;
  /** Of the ids: a key in place of the first one. */
  readonly as?: string;
  /** Without a key. */
  readonly isOpen?: boolean;
  /** Not the whole page, but the window. */
  readonly isWindow?: boolean;
  /** ms for pictures to come. */
  readonly wait?: number;
}

const press = (name: string | RegExp) => (page: Page) => page.getByRole('button', { name }).first().click();
const tab = (name: string) => (ids: Ids) => `/dashboard/stream/${ids.stream}?tab=${name}`;

const shots: readonly Shot[] = [
  { name: 'sign-in', path: () => '/', isOpen: true },
  {
    ...{ name: 'sign-in-refused', path: () => '/', isOpen: true },
    act: async (page) => {
      await page.getByLabel('API key').fill('wrong');
      await page.getByRole('button', { name: 'Sign in' }).click();
    },
  },
  { name: 'home', path: () => '/', wait: 3000 },
  { name: 'streams', path: () => '/dashboard/streams' },
  { name: 'go-live-1', path: () => '/dashboard/go-live' },
  { name: 'go-live-2', path: (ids) => `/dashboard/go-live?stream=${ids.idle}` },
  {
    ...{ name: 'go-live-ffmpeg', path: (ids) => `/dashboard/go-live?stream=${ids.idle}` },
    act: (page) => page.getByLabel('ffmpeg').check(),
  },
  { name: 'go-live-3', path: (ids) => `/dashboard/go-live?stream=${ids.stream}`, wait: 5000 },
  { name: 'go-live-trouble', path: (ids) => `/dashboard/go-live?stream=${ids.ill}`, wait: 8000 },
  { name: 'stream', path: (ids) => `/dashboard/stream/${ids.stream}`, wait: 5000 },
  { name: 'stream-trouble', path: (ids) => `/dashboard/stream/${ids.ill}`, wait: 8000 },
  { name: 'stream-idle', path: (ids) => `/dashboard/stream/${ids.idle}` },
  { name: 'stream-sessions', path: tab('sessions') },
  { name: 'stream-recordings', path: (ids) => `/dashboard/stream/${ids.over}?tab=recordings` },
  { name: 'stream-targets', path: tab('targets') },
  { name: 'stream-target-add', path: tab('targets'), act: press('Twitch') },
  { name: 'stream-access', path: (ids) => `/dashboard/stream/${ids.ill}?tab=access` },
  { name: 'stream-access-default', path: tab('access') },
  { name: 'policy-form', path: (ids) => `/dashboard/stream/${ids.ill}?tab=access`, act: changePolicy },
  {
    ...{ name: 'token-check', path: (ids) => `/dashboard/stream/${ids.ill}?tab=access`, isWindow: true },
    act: async (page) => {
      await press('Check a token')(page);
      await page.getByRole('dialog').getByRole('button', { name: 'Check', exact: true }).click();
    },
  },
  {
    ...{ name: 'playback-end', path: (ids) => `/dashboard/stream/${ids.ill}?tab=access`, isWindow: true },
    act: press('End playback'),
  },
  { name: 'stream-settings', path: tab('settings') },
  { name: 'stream-api', path: tab('api') },
  { name: 'stream-delete', path: tab('settings'), act: press(/^Delete/), isWindow: true },
  { name: 'session', path: (ids) => `/dashboard/session/${ids.session}`, wait: 2000 },
  { name: 'assets', path: () => '/dashboard/assets' },
  { name: 'assets-table', path: () => '/dashboard/assets?view=table' },
  { name: 'assets-import', path: () => '/dashboard/assets', act: press('Import a URL'), isWindow: true },
  { name: 'assets-upload', path: () => '/dashboard/assets', act: uploads, isWindow: true },
  { name: 'asset', path: (ids) => `/dashboard/asset/${ids.asset}`, wait: 2000 },
  { name: 'asset-failed', path: (ids) => `/dashboard/asset/${ids.broken}` },
  { name: 'asset-waiting', path: (ids) => `/dashboard/asset/${ids.waiting}` },
  {
    name: 'asset-export',
    path: (ids) => `/dashboard/asset/${ids.asset}`,
    act: press('Export'),
    isWindow: true,
  },
  { name: 'tasks', path: () => '/dashboard/tasks' },
  { name: 'task', path: (ids) => `/dashboard/task/${ids.task}` },
  { name: 'task-running', path: (ids) => `/dashboard/task/${ids.running}` },
  { name: 'webhooks', path: () => '/dashboard/webhooks' },
  { name: 'webhook-form', path: () => '/dashboard/webhooks', act: press('Create a webhook'), isWindow: true },
  { name: 'webhook', path: (ids) => `/dashboard/webhook/${ids.webhook}` },
  {
    ...{ name: 'webhook-entry', path: (ids) => `/dashboard/webhook/${ids.failing}` },
    act: (page) => page.locator('td a.fill').first().click(),
  },
  { name: 'webhook-facts', path: (ids) => `/dashboard/webhook/${ids.failing}?tab=facts` },
  { name: 'webhook-signature', path: (ids) => `/dashboard/webhook/${ids.webhook}?tab=signature` },
  { name: 'keys', path: () => '/dashboard/keys' },
  {
    ...{ name: 'key-form', path: () => '/dashboard/keys', isWindow: true },
    act: async (page) => {
      await press('Create a key')(page);
      await page.getByRole('button', { name: /asset$/ }).click();
      await page.getByRole('checkbox', { name: 'get asset, all of it' }).check();
    },
  },
  { name: 'key-delete', path: () => '/dashboard/keys', act: press(/^Delete /), isWindow: true },
  { name: 'signing-keys', path: () => '/dashboard/signing-keys' },
  {
    ...{ name: 'signing-key-form', path: () => '/dashboard/signing-keys', isWindow: true },
    act: press('Create a signing key'),
  },
  {
    ...{ name: 'signing-key-made', path: () => '/dashboard/signing-keys', isWindow: true },
    act: async (page) => {
      await press('Create a signing key')(page);
      await page.getByRole('dialog').getByLabel('Name').fill('Apps');
      await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
      await page.getByLabel('Private half', { exact: true }).waitFor();
    },
  },
  { name: 'usage', path: () => '/dashboard/usage' },
  { name: 'usage-own', path: () => '/dashboard/usage', as: 'otherKey' },
  {
    ...{ name: 'usage-limits', path: () => '/dashboard/usage', isWindow: true },
    act: press('Use and limits of Acme Films'),
  },
  { name: 'events', path: () => '/dashboard/events', wait: 6000 },
  { name: 'audit', path: () => '/dashboard/audit' },
  { name: 'system', path: () => '/dashboard/system', wait: 1500 },
  { name: 'system-plugins', path: () => '/dashboard/system?tab=plugins' },
  { name: 'system-config', path: () => '/dashboard/system?tab=config' },
  { name: 'system-reactions', path: () => '/dashboard/system?tab=reactions' },
  { name: 'plugin', path: () => '/dashboard/shelf' },
  { name: 'not-found', path: () => '/dashboard/nothing' },
  { name: 'stream-not-found', path: () => '/dashboard/stream/nothing' },
  { name: 'palette', path: () => '/', act: (page) => page.keyboard.press('Control+k'), isWindow: true },
  { name: 'help', path: () => '/', act: (page) => page.keyboard.press('?'), isWindow: true },
  {
    ...{ name: 'lost', path: () => '/dashboard/streams', isWindow: true, wait: 6000 },
    act: (page) => page.context().setOffline(true),
  },
  ...['home', 'streams', 'assets', 'tasks', 'webhooks', 'keys', 'events'].map(
    (name): Shot => ({
      ...{ name: `empty-${name}`, path: () => (name === 'home' ? '/' : `/dashboard/${name}`), on: 'empty' },
    }),
  ),
  { name: 'landing', path: () => '/', on: 'bare', isOpen: true },
  ...['watch', 'embed'].flatMap((kind): Shot[] => [
    { name: `${kind}-live`, path: (ids) => `/${kind}/${ids.playback}`, isOpen: true, wait: 4000 },
    { name: `${kind}-before`, path: (ids) => `/${kind}/${ids.idlePlayback}`, isOpen: true },
    { name: `${kind}-over`, path: (ids) => `/${kind}/${ids.overPlayback}`, isOpen: true, wait: 2000 },
    { name: `${kind}-film`, path: (ids) => `/${kind}/${ids.assetPlayback}`, isOpen: true, wait: 2000 },
    { name: `${kind}-error`, path: () => `/${kind}/nothing`, isOpen: true },
  ]),
];

async function changePolicy(page: Page) {
  await press('Change')(page);
  await page.getByRole('radio', { name: 'Webhook' }).check();
  await page.getByRole('textbox', { name: 'Pages' }).fill('www.example.com');
  await press('Save')(page);
}

/** One that is under way, and one that is paused. */
async function uploads(page: Page) {
  const files = page.locator('input[type=file][multiple]').first();
  const paths = ['Concert, second half.mp4', 'Credits.mp4'].map((name) => join(options.out, name));
  for (const path of paths) {
    writeFileSync(path, '');
    truncateSync(path, 30_000_000);
  }
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Network.emulateNetworkConditions', {
    ...{ offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 2_000_000 },
  });
  await files.setInputFiles(paths);
  await page.waitForTimeout(4000);
  await page
    .getByRole('button', { name: /^Pause Credits/ })
    .click({ timeout: 1000 })
    .catch(() => {});
}

interface Facts extends Record<'full' | 'empty' | 'bare' | 'key', string> {
  readonly ids: Ids;
}

/** Sums up the layout shifts that nobody caused by a click. */
const watchShifts = () => {
  const shifts: string[] = [];
  Object.assign(window, { shifts });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as unknown as Shift[]) {
      if (entry.hadRecentInput) continue;
      const nodes = entry.sources.map(({ node }) => {
        const { className = '', localName = '#text' } = (node ?? {}) as Element;
        return `${localName}.${className}`;
      });
      shifts.push(`${entry.value.toFixed(3)} ${nodes.join(' ')}`);
    }
  }).observe({ type: 'layout-shift', buffered: true });
};
interface Shift {
  readonly value: number;
  readonly hadRecentInput: boolean;
  readonly sources: readonly { readonly node?: Node }[];
}

async function take(browser: Browser, { shot, facts, width, theme }: Job): Promise<void> {
  const name = `${shot.name}-${width}-${theme}`;
  const height = width === 390 ? 844 : 900;
  const context = await browser.newContext({
    ...{ colorScheme: theme, viewport: { width, height }, hasTouch: width === 390, isMobile: width === 390 },
  });
  await context.addInitScript(watchShifts);
  if (!shot.isOpen)
    await context.addInitScript(
      (key) => sessionStorage.setItem('millrace.key', key),
      shot.as === undefined ? facts.key : (facts.ids[shot.as] ?? ''),
    );
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (line) => line.type() === 'error' && problems.push(line.text()));
  try {
    await page.goto(facts[shot.on ?? 'full'] + shot.path(facts.ids));
    await page.waitForTimeout(1500);
    await page.locator('[aria-busy]').waitFor({ state: 'detached', timeout: 5000 });
    await shot.act?.(page, facts.ids);
    await page.waitForTimeout(shot.wait ?? 700);
    const { wide, shifts } = await page.evaluate(() => ({
      wide: [...document.querySelectorAll('body *')]
        .filter(
          (one) =>
            one.getBoundingClientRect().right > innerWidth + 1 &&
            !one.closest('.scroll, pre, .hidden, .tabs, svg, .tree, .skip, .dot-scroll'),
        )
        .slice(0, 3)
        .map((one) => `${one.localName}.${one.className}`),
      shifts: (window as unknown as { shifts: string[] }).shifts,
    }));
    problems.push(...wide.map((one) => `too wide: ${one}`), ...shifts.map((one) => `shift: ${one}`));
    if (options.axe) problems.push(...(await violationsOf(page)));
    await page.screenshot({ path: join(options.out, `${name}.png`), fullPage: !shot.isWindow });
  } catch (error) {
    problems.push(`NOT TAKEN: ${error}`);
    await page.screenshot({ path: join(options.out, `${name}.png`) }).catch(() => {});
  }
  await context.close();
  console.log(`${name}${problems.map((one) => `\n    ${one.slice(0, 300)}`).join('')}`);
}

interface Job {
  readonly shot: Shot;
  readonly facts: Facts;
  readonly width: number;
  readonly theme: 'light' | 'dark';
}

async function main(facts: Facts) {
  mkdirSync(options.out, { recursive: true });
  const browser = await launchBrowser();
  const wanted = shots.filter(({ name }) => new RegExp(`^(${options.pages})`).test(name));
  for (const shot of wanted)
    for (const width of options.widths.split(',').map(Number))
      for (const theme of options.themes.split(',') as Job['theme'][])
        await take(browser, { shot, facts, width, theme });
  await browser.close();
}

if (options.scene) await main(JSON.parse(readFileSync(options.scene, 'utf8')));
else {
  await using scene = await openScene();
  const { full, empty, bare } = scene.servers;
  await main({ full: full.url, empty: empty.url, bare: bare.url, key: full.key, ids: scene.ids });
}
