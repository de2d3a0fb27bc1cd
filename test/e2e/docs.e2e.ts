import { copyFile, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { operations } from '../../sdk/client/api.ts';
import { launchBrowser } from './harness/chromium.ts';
import { openReader } from './harness/dashboard-reader.ts';
import { run } from './harness/film-tools.ts';
import { root, type Server, startServer } from './harness/server.ts';

let server: Server;
let browser: Awaited<ReturnType<typeof launchBrowser>>;

beforeAll(async () => {
  [server, browser] = await Promise.all([startServer(), launchBrowser()]);
}, 60_000);

afterAll(async () => {
  await browser?.close();
  await server?.[Symbol.asyncDispose]();
});

/** What axe finds in the parts of Scalar in which a request is tried. Ours is all that is around them. */
const faultsOfScalar = /^(aria-input-field-name|aria-prohibited-attr|aria-required-attr):/;

test('the reference is searched, read, and tried with a key, and nothing comes from elsewhere', async () => {
  await using reader = await openReader(browser, { server });
  const { page } = reader;
  await reader.open('/docs', 'Millrace');

  const found = page.getByRole('dialog').getByRole('option');
  const search = async (text: string) => {
    await page
      .getByRole('button', { name: /search/i })
      .first()
      .click();
    // What was searched before is still there.
    await page.keyboard.press('Control+A');
    await page.keyboard.type(text);
  };
  await search('target.busy');
  await found.filter({ hasText: '/api/multistream/target/{id}' }).first().waitFor();
  await page.keyboard.press('Escape');
  await search('createStream');
  await found.filter({ hasText: 'Creates a stream' }).first().click();
  const route = page
    .locator('section')
    .filter({ has: page.getByRole('heading', { name: 'Creates a stream' }) })
    .last();
  await route.getByRole('button', { name: 'Test Request' }).waitFor();
  expect(await route.textContent()).toContain('renditions.invalid');
  expect(await route.textContent()).toContain(`curl '${server.url}/api/stream'`);
  expect(await reader.violations(route)).toEqual([]);

  await page.getByRole('textbox', { name: 'Bearer Token' }).first().fill(server.key);
  await route.getByRole('button', { name: 'Test Request' }).click();
  const trial = page.getByRole('dialog').filter({ hasText: 'Request Body' });
  await trial.locator('.cm-content').first().click();
  expect((await reader.violations(trial)).filter((fault) => !faultsOfScalar.test(fault))).toEqual([]);
  await page.keyboard.press('Control+A');
  await page.keyboard.type('{"name": "From the page"}');
  await trial.getByRole('button', { name: 'Send' }).first().click();
  await trial.getByText('201 Created').waitFor();
  const [{ id, name }] = (await listed('stream')) as [{ id: string; name: string }];
  expect(name).toBe('From the page');
  await server.api.request('DELETE', `/api/stream/${id}`);
  // The key is not kept.
  expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain(server.key);
  expect(reader.complaints).toEqual([]);
});

test('the reference follows the theme of the dashboard, and fits a phone', async () => {
  await using reader = await openReader(browser, { server, theme: 'dark', width: 390 });
  const { page } = reader;
  await reader.open('/docs', 'Millrace');
  const colours = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await colours();
  expect(await reader.violations()).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  await page.getByRole('button', { name: 'Theme' }).click();
  expect(await colours()).not.toBe(dark);
  expect(await page.evaluate(() => localStorage.getItem('millrace.theme'))).toBe('light');
  await reader.open('/docs/guides', 'Guides');
  expect(await colours()).not.toBe(dark);
  expect(reader.complaints).toEqual([]);
});

test('guides are read, followed and copied, in light and dark and on a phone', async () => {
  for (const [theme, width] of [
    ['light', 1280],
    ['dark', 390],
  ] as const) {
    await using reader = await openReader(browser, { server, theme, width });
    const { page } = reader;
    await reader.open('/docs/guides', 'Guides');
    expect(await reader.violations()).toEqual([]);
    await page.getByRole('main').getByRole('link', { name: 'Limits', exact: true }).first().click();
    await page.getByRole('heading', { level: 1, name: 'Limits' }).waitFor();
    await reader.open('/docs/guides/embed', 'Embed the player');
    expect(await reader.violations()).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    await page.getByRole('heading', { name: 'Events' }).getByRole('link').click();
    expect(new URL(page.url()).hash).toBe('#events');
    await reader.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const code = page.locator('.code').first();
    await code.hover();
    await code.getByRole('button').click();
    await code.getByText('Copied').waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toBe((await code.locator('code').textContent())?.replace(/\n$/, ''));
    expect(reader.complaints).toEqual([]);
  }
});

test('examples of the reference work as they are, in curl, TypeScript and Python', async () => {
  const samples = await samplesOfServer();
  await using folder = await folderInPackage();
  await copyFile(clip, join(folder.path, 'film.mp4'));
  const env = { ...process.env, MILLRACE_KEY: server.key };
  const runFile = async (command: string, args: string[]) =>
    (await run(command, args, { cwd: folder.path, env })).stdout;
  const languages: Record<string, (source: string) => Promise<string>> = {
    curl: (source) => runFile('sh', ['-c', source.replace(/^curl /, 'curl -sS --fail-with-body ')]),
    // As a program that depends on the package: `millrace/client` is found by its name.
    async TypeScript(source) {
      await writeFile(join(folder.path, 'example.ts'), source);
      return runFile(process.execPath, [join(folder.path, 'example.ts')]);
    },
    Python: (source) => runFile('python3', ['-c', source]),
  };
  for (const [language, runs] of Object.entries(languages)) {
    const sample = (call: string, id = exampleId) => samples(call, language).replaceAll(exampleId, id);
    await runs(sample('createStream'));
    const [stream] = (await listed('stream')) as { id: string; name: string; userTags: object }[];
    expect(stream).toMatchObject({ name: 'Friday show', userTags: { show: 'friday', season: 3 } });
    const id = stream?.id ?? '';
    expect([language, await runs(sample('listStreams'))]).toEqual([language, expect.stringContaining(id)]);
    await runs(sample('changeStream', id));
    expect([language, await runs(sample('getStream', id))]).toEqual([language, expect.stringContaining(id)]);
    await runs(sample('deleteStream', id));
    expect(await listed('stream')).toEqual([]);

    const answer = await server.api.request('POST', '/api/asset/request-upload', { name: language });
    const { url } = (await answer.json()) as { url: string };
    await runs(samples('upload', language).replace(/http:[^'"]+\/upload\/[^'"]+/, url));
    const assets = (await listed('asset')) as { name: string; status: string; size: number }[];
    const { size } = await stat(clip);
    expect(assets.find(({ name }) => name === language)).toMatchObject({ status: 'ready', size });
  }
  // A refusal ends each of them with what the server said, or with an error.
  for (const [language, runs] of Object.entries(languages))
    await expect(runs(samples('getStream', language)), language).rejects.toThrow(/404/);
}, 120_000);

const exampleId = '1f6f0a52-6d6b-4a0c-9a3e-0d6f3ab7c2e1';
const clip = join(root, 'test/fuzz/mp4/seeds/plain.mp4');

const listed = async (kind: string) => (await server.api.request('GET', `/api/${kind}`)).json();

/** The examples that the page makes from the document of this server. */
async function samplesOfServer(): Promise<(call: string, language: string) => string> {
  const { shownDocument } = (await import('../../plugins/docs/page/document.js' as string)) as {
    shownDocument(
      openApi: object,
      calls: ReadonlySet<string>,
    ): { paths: Record<string, Record<string, Call>> };
  };
  const openApi = await (await server.api.request('GET', '/openapi.json')).json();
  const { paths } = shownDocument(openApi, new Set(Object.keys(operations)));
  const calls = Object.values(paths).flatMap((methods) => Object.values(methods));
  return (call, language) => {
    const { 'x-codeSamples': samples = [] } = calls.find(({ operationId }) => operationId === call) ?? {};
    return samples.find(({ label }) => label === language)?.source ?? '';
  };
}

interface Call {
  readonly operationId: string;
  readonly 'x-codeSamples': { readonly label: string; readonly source: string }[];
}

async function folderInPackage() {
  await mkdir(join(root, 'tmp'), { recursive: true });
  const path = await mkdtemp(join(root, 'tmp/docs-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

test('a plugin that is off is not in it', async () => {
  await using other = await startServer({
    env: { MILLRACE_PLUGINS: '{"multistream": false, "docs": false}' },
  });
  const document = await (await other.api.request('GET', '/openapi.json')).text();
  // A webhook may name events that nothing emits.
  const text = document.replaceAll(/"multistream\.[a-z]+"/g, '');
  expect(text).toContain('/api/stream');
  expect(text).not.toContain('ultistream');
  for (const path of ['/docs', '/docs/guides', '/docs/guides/api', '/llms.txt', '/llms-full.txt']) {
    expect([path, (await other.api.request('GET', path)).status]).toEqual([path, 404]);
  }
});
