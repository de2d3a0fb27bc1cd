/** What README and docs promise in one sentence, and the program could silently do otherwise. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';
import { isRefusedPort } from '../core/base/host.ts';
import type { Plugin } from '../core/plugin/plugin.ts';
import { pushUrl } from '../core/push-url/push-url.ts';
import { planOf } from '../runtime/boot/plan.ts';
import { allPlugins } from './kit/all-plugins.ts';
import { world } from './kit/world.ts';

const plugins = await allPlugins();
const root = join(import.meta.dirname, '..');
const source = (file: string) => readFileSync(join(root, file), 'utf8');
const text = (file: string) => source(file).replace(/\s+/g, ' ');
const guide = text('docs/api.md');
const operating = text('docs/operating.md');
/** Pages that people write. */
const pages = [
  ...['README.md', 'CONTRIBUTING.md', 'AGENTS.md'],
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md') && !['reference.md', 'machines.md'].includes(name))
    .map((name) => `docs/${name}`),
  ...['docs/plugins', 'docs/guides'].flatMap((folder) =>
    readdirSync(join(root, folder)).map((name) => `${folder}/${name}`),
  ),
];
/** READMEs of folders with code. */
const folderPages = [
  'core',
  'machines',
  'plugins',
  'runtime',
  'config',
  'sdk',
  'cli',
  'test',
  'bench',
  'scripts',
  'demo',
].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /(^|\/)README\.md$/.test(name) && !name.includes('node_modules'))
    .map((name) => `${folder}/${name}`),
);

it('needs a key below /api, but for playback info, ingest discovery and sign-in, and nowhere else but at /mcp', async () => {
  await using w = await world({ plugins });
  const isKeyed = (operation: { security?: readonly object[] }) => (operation.security ?? []).length > 0;
  const wrong = Object.entries(w.document.paths).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, { security?: readonly object[] }>)
      // A preflight carries no key.
      .filter(([method]) => method !== 'options')
      .filter(([, operation]) => {
        const isOpen =
          (!path.startsWith('/api/') && path !== '/mcp') ||
          ['/api/playback/{id}', '/api/ingest', '/api/sign-in'].includes(path);
        return isKeyed(operation) === isOpen;
      })
      .map(([method]) => `${method} ${path}`),
  );
  expect(wrong).toEqual([]);
  expect(
    guide.includes(
      'Requests below `/api` carry `Authorization: Bearer <API key>`, except `GET /api/playback/{id}`, `GET /api/ingest` and `POST /api/sign-in`.',
    ),
  ).toBe(true);
});

it('refuses the ports that the guide names, for webhooks and pushes alike, and no port of media', () => {
  const [, list = ''] =
    /not on the ports of well-known other services: [^(]*\(for example ([\d, ]+)\)/.exec(guide) ?? [];
  const named = list.split(', ').map(Number);
  expect(named).toContain(445);
  expect(named.filter((port) => !isRefusedPort(port))).toEqual([]);
  for (const scheme of ['rtmp', 'srt'])
    expect(pushUrl(`${scheme}://example.com:445/live/key`)).toMatchObject({ ok: false });
  expect([80, 443, 554, 1935, 8080, 10_080].filter(isRefusedPort)).toEqual([]);
});

it('says that not every issue makes a broadcast unhealthy', async () => {
  // That those of targets do not: test/plugins/pushes/live-trouble.test.ts.
  await using w = await world({ plugins });
  const { Stream } = w.document.components.schemas as Record<
    string,
    { properties: Record<string, { description: string }> }
  >;
  expect(Stream.properties.isHealthy.description).toMatch(/targets.* leave it true/);
  expect(guide.includes('Some `issues`, such as those of targets, do not make it false')).toBe(true);
});

it('shows thumbnailUrl of what is on the air whether there is an ffmpeg or not', async () => {
  await using w = await world({ plugins });
  const stream = await w.given.stream();
  await w.given.broadcast(stream);
  const { body } = await w.request('GET', `/api/stream/${stream.id}`);
  expect(body.thumbnailUrl).toMatch(/\/thumbnail\.jpg$/);
  expect(guide.includes('even if the server has no ffmpeg')).toBe(true);
});

it('has the parent stream in events of streams, and none in those of assets and tasks', async () => {
  await using w = await world({ plugins });
  const stream = await w.given.stream({ record: true });
  await w.given.broadcast(stream);
  await w.request('POST', '/api/asset/request-upload', { body: { name: 'A film' } });
  const events = await w.events();
  const seen = new Set<string>(events.map(({ event }) => event));
  expect([...seen]).toEqual(
    expect.arrayContaining(['stream.started', 'recording.started', 'asset.created', 'task.spawned']),
  );
  for (const { event, stream: shown } of events) {
    const isOfStream = /^(stream|recording|multistream)\./.test(event);
    expect([event, shown?.id]).toEqual([event, isOfStream ? stream.id : undefined]);
    for (const field of ['streamKey', 'parentId', 'thumbnailUrl', 'recordingUrl', 'mp4Url'])
      expect(shown ?? {}, event).not.toHaveProperty(field);
  }
});

it('starts without any plugin that no other needs, and names those that need it otherwise', () => {
  const problemsWithout = (off: ReadonlySet<string>) =>
    planOf(plugins.filter(({ id }) => !off.has(id)).map((plugin) => ({ plugin, config: undefined })))
      .problems;
  const alone: string[] = [];
  for (const { id } of plugins) {
    const off = new Set([id]);
    for (let problems = problemsWithout(off); problems.length > 0; problems = problemsWithout(off)) {
      const before = off.size;
      for (const problem of problems) off.add(/^plugin ([\w-]+): /.exec(problem)?.[1] ?? '');
      expect(off.size, problems.join('; ')).toBeGreaterThan(before);
    }
    if (off.size === 1) alone.push(id);
  }
  expect(alone).toEqual(
    expect.arrayContaining([
      ...['health', 'renditions', 'multistream', 'transcode', 'exports', 'recordings', 'stills'],
      ...['playback', 'ingest', 'events', 'webhooks', 'watch', 'docs'],
    ]),
  );
  for (const id of ['accounts', 'streams', 'tasks', 'assets']) expect(alone).not.toContain(id);
  expect(operating.includes('Plugins that need it have to be off as well')).toBe(true);
});

it.each(pages)('%s links to pages and headings that exist', (page) => {
  const headings = (file: string) =>
    [...source(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    );
  const broken = [...source(page).matchAll(/\]\(([^)]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !target.startsWith('http'))
    .filter((target) => {
      const [path, anchor] = target.split('#');
      const file = path ? normalize(join(dirname(page), path)) : page;
      if (!existsSync(join(root, file))) return true;
      return anchor !== undefined && !headings(file).includes(anchor);
    });
  expect(broken).toEqual([]);
});

it.each(pages)('%s names files and config keys that exist', (page) => {
  const named = [...source(page).matchAll(/`([^`\s]+)`/g)].map(([, name = '']) => name);
  const files = named
    .filter((name) =>
      /^(core|machines|plugins|runtime|config|sdk|cli|test|bench|scripts|demo)\/[\w./-]+$/.test(name),
    )
    // The example of CONTRIBUTING.md.
    .filter((name) => !/\/notes[./]/.test(name));
  expect(files.filter((name) => !existsSync(join(root, name)))).toEqual([]);
  const reference = source('docs/reference.md');
  const keys = named.filter((name) => /^plugins\.[a-z]+\.\w+$/.test(name));
  expect(keys.filter((key) => !reference.includes(`\`${key}`))).toEqual([]);
});

it.each(folderPages)('%s names files that exist', (page) => {
  const folder = dirname(page);
  const below = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
  const isThere = (name: string) =>
    existsSync(join(root, name)) ||
    existsSync(join(root, folder, name)) ||
    below.some((file) => file.endsWith(`/${name}`));
  const named = [...source(page).matchAll(/`([\w./-]+\.ts)`/g)].map(([, name = '']) => name);
  expect(named.filter((name) => !isThere(name))).toEqual([]);
});

it('has an example of a plugin in CONTRIBUTING.md that works', async () => {
  const [, example = ''] = /`notes\/index\.ts`:\n\n```ts\n(.*?)```/s.exec(source('CONTRIBUTING.md')) ?? [];
  const folder = mkdtempSync(join(tmpdir(), 'millrace-example-'));
  const file = join(folder, 'notes.ts');
  writeFileSync(file, example);
  const { default: notes } = (await import(file)) as { default: Plugin };
  rmSync(folder, { recursive: true });
  await using w = await world({ plugins: [...plugins, notes] });
  const { id } = await w.given.stream({ note: 'Final' });
  expect((await w.request('GET', `/api/stream/${id}/note`)).body).toEqual({ note: 'Final' });
  expect((await w.request('GET', '/api/stream?filters=[{"id":"note","value":"fin"}]')).body).toHaveLength(1);
});
