import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { guides } from '../../../plugins/docs/guides.ts';
import { renderMarkdown } from '../../../plugins/docs/markdown.ts';
import { linkTarget, pathOf, readLibrary } from '../../../plugins/docs/pages.ts';
import { allPlugins } from '../../kit/all-plugins.ts';
import { world } from '../../kit/world.ts';

const fixture = join(import.meta.dirname, 'fixture');
const docs = join(import.meta.dirname, '../../../docs');
const request = (headers: Record<string, string> = {}) => new Request('http://localhost:8080/', { headers });

async function shown(name: string) {
  const { served, isFound } = await guides(fixture).find(name);
  const answer = await served(request());
  return { isFound, answer, text: await answer.text() };
}

describe('a guide', () => {
  it('is HTML: its text, headings with anchors, tables and code', async () => {
    const { answer, text, isFound } = await shown('first');
    expect([isFound, answer.headers.get('content-type')]).toEqual([true, 'text/html; charset=utf-8']);
    expect(text).toContain('<title>The first guide · Millrace</title>');
    expect(text).toContain('<h1 id="the-first-guide">The <em>first</em> guide</h1>');
    expect(text).toContain(
      '<h2 id="whats-next-a-b--c_d">What\'s <code>next</code>: a, b &amp; c_d <a class="anchor" href="#whats-next-a-b--c_d"',
    );
    expect(text).toContain('<th scope="col" class="right">right</th>');
    expect(text).toContain(
      '<div class="code" data-language="sh"><pre tabindex="0"><code>curl -d \'{&quot;a&quot;: &quot;&lt;b&gt;&quot;}\' &quot;$URL&quot;\n</code>',
    );
    expect(text).toMatch(/<li><p>One<\/p>\s*<div class="code" data-language="json">/);
  });

  it('gives headings of the same name different anchors', async () => {
    const { text } = await shown('second');
    expect([...text.matchAll(/<h2 id="([^"]+)"/g)].map(([, id]) => id)).toEqual(['set-up', 'set-up-1']);
    // The list of contents leads to both.
    expect(text).toContain('<li class="level-2"><a href="#set-up-1">Set up</a></li>');
  });

  it('links to pages by the addresses that they have here, and to nothing that is not served', async () => {
    const { text } = await shown('first');
    expect(text).toContain('<a href="/docs/guides/second#set-up" title="Title">the second</a>');
    expect(text).toContain('<a href="/docs/guides/api">the API</a>');
    expect(text).toContain('<a href="/docs/guides/plugins">the plugins</a>');
    expect(text).toContain('<span class="file">the code</span>');
    expect(text).toContain('<a href="https://example.com/a?b=1&amp;c=2">a site</a>');
    expect(text).toContain('<img src="/docs/guides/wheel.svg" alt="A wheel"');
  });

  it('shows raw HTML as text, and follows neither scripts in links nor pictures of other hosts', async () => {
    const { text } = await shown('first');
    expect(text).toContain('&lt;script&gt;alert(');
    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(text).toContain('&lt;b&gt;bold&lt;/b&gt;');
    expect(text).toContain('<span class="file">a trap</span>');
    expect(text).toContain('&lt;i&gt;');
    expect(text).not.toContain('example.com/x.png');
    expect(text).not.toMatch(/<script(?! src="\/docs\/app\/)/);
  });

  it('has a policy without anything inline', async () => {
    const { answer } = await shown('first');
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/);
    expect(policy).not.toContain('unsafe');
  });

  it('is compressed where the client takes it, and answered with 304 where the client has it', async () => {
    const { served } = await guides(fixture).find('first');
    const plain = await (await served(request())).text();
    const packed = await served(request({ 'accept-encoding': 'gzip, br' }));
    expect(packed.headers.get('content-encoding')).toBe('gzip');
    expect(gunzipSync(await packed.bytes()).toString()).toBe(plain);
    const headers = { 'accept-encoding': 'gzip', 'if-none-match': packed.headers.get('etag') ?? '' };
    expect((await served(request(headers))).status).toBe(304);
    expect((await served(request({ 'if-none-match': headers['if-none-match'] }))).status).toBe(200);
  });

  it('is also there as Markdown, whose links lead to Markdown', async () => {
    const { answer, text } = await shown('first.md');
    expect(answer.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
    expect(text).toContain('](/docs/guides/second.md#set-up "Title")');
    expect(text).toContain('[the API](/docs/guides/api.md)');
    expect(text).toContain('![A wheel](/docs/guides/wheel.svg)');
    expect((await shown('README.md')).text).toMatch(/^# Guides\n/);
  });

  it('has its pictures beside it', async () => {
    const { answer, text } = await shown('wheel.svg');
    expect(answer.headers.get('content-type')).toBe('image/svg+xml');
    expect(text).toBe(readFileSync(join(fixture, 'wheel.svg'), 'utf8'));
  });
});

it('takes a slash at the end for nothing', async () => {
  expect((await shown('first/')).text).toBe((await shown('first')).text);
  expect((await shown('/')).text).toBe((await shown('')).text);
});

it('lists all pages, in the order of what guides/README.md links to', async () => {
  const text = (await shown('')).text;
  expect(text).toContain('<p>Each guide does one thing.</p>');
  expect(text).toContain('<li><a href="/docs/guides/api">API</a><p>The API.</p></li>');
  const open = text.slice(text.indexOf('class="open"'), text.indexOf('<main'));
  expect([...open.matchAll(/href="([^"]+)"/g)].map(([, path]) => path)).toEqual([
    ...['/docs/guides/second', '/docs/guides/first', '/docs/guides/api', '/docs/guides/plugins'],
  ]);
});

const outside = [
  ...['nothing', '.', '..', '../package.json', 'guides/../../kit/world.ts', '/etc/passwd', 'notes.txt'],
  ...[
    '..%2f..%2fpackage.json',
    'first.md/..',
    'guides/first',
    'guides',
    'first%00',
    '__proto__',
    'constructor.md',
  ],
];
it.each(outside)('has no page %j', async (name) => {
  const { isFound, text } = await shown(name);
  expect(isFound).toBe(false);
  expect(text).toContain('There is no page');
  expect(text).not.toContain('secret');
});

it('answers in words, with 404, what it does not have', async () => {
  await using w = await world({ plugins: await allPlugins() });
  for (const path of ['nothing', '..%2f..%2fpackage.json', '<b>']) {
    const answer = await w.app.handle(new Request(`http://localhost:8080/docs/guides/${path}`));
    const text = await answer.text();
    expect([path, answer.status, answer.headers.get('content-type')]).toEqual([
      path,
      404,
      'text/html; charset=utf-8',
    ]);
    expect(text).toContain('href="/docs/guides"');
    expect(text).not.toContain('<b>');
  }
  expect((await w.request('GET', '/docs/app/nothing.js', { key: null })).body.code).toBe('docs.not_found');
});

it('lists what there is to read for language models, with links that work', async () => {
  const all = guides(fixture);
  const read = async (kind: 'list' | 'full', baseUrl = 'https://video.example.com') =>
    (await (await all.llms(kind, baseUrl))(new Request(`${baseUrl}/`))).text();
  const text = await read('list');
  expect(text).toMatch(/^# Millrace\n\n> Open, self-hosted .*\n\n/);
  expect(text).toContain(`## Guides

- [Guides](https://video.example.com/docs/guides/README.md): Each guide does one thing.
- [Second](https://video.example.com/docs/guides/second.md): Second guide.
- [The first guide](https://video.example.com/docs/guides/first.md): Do this first.

## API

- [OpenAPI 3.1](https://video.example.com/openapi.json)`);
  const full = await read('full');
  expect(full).toContain('Source: https://video.example.com/docs/guides/first.md\n\n# The *first* guide');
  expect(full).toContain('](https://video.example.com/docs/guides/second.md#set-up "Title")');
  expect(await read('full', 'http://localhost:8080')).not.toContain('video.example.com');
  expect(await all.llms('list', 'http://a.example.com')).toBe(await all.llms('list', 'http://a.example.com'));
});

describe('the pages of docs/', async () => {
  const library = await readLibrary(docs);
  const pages = [...library.byFile.values()];

  it('have names of their own', () => {
    const names = pages.map((page) => pathOf(page));
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
    expect(pages.length).toBeGreaterThan(20);
  });

  it('link to headings that are there', () => {
    const targets: string[] = [];
    const ids = new Set<string>();
    for (const page of pages) {
      const linkTo = (target: string) => {
        const path = linkTarget(target, { page, library });
        if (path !== undefined && /^[/#]/.test(path)) targets.push(path.replace(/^#/, `${pathOf(page)}#`));
        return path;
      };
      const { headings } = renderMarkdown(page.markdown, { linkTo });
      ids.add(pathOf(page));
      for (const { id } of headings) ids.add(`${pathOf(page)}#${id}`);
    }
    const isPicture = (path: string) => library.images.has(path.replace('/docs/guides/', ''));
    expect(
      targets.filter((path) => path.startsWith('/docs/guides') && !ids.has(path) && !isPicture(path)),
    ).toEqual([]);
    expect(targets.length).toBeGreaterThan(100);
  });

  it('are all in /llms.txt, whose links are answered', async () => {
    await using w = await world({ plugins: await allPlugins() });
    const read = async (path: string) => {
      const answer = await w.app.handle(new Request(`http://localhost:8080${path}`));
      return { status: answer.status, text: await answer.text() };
    };
    const { text } = await read('/llms.txt');
    const links = [...text.matchAll(/\]\((http[^)]+)\)/g)].map(([, link = '']) => link);
    expect(links.every((link) => link.startsWith('http://localhost:8080/'))).toBe(true);
    expect(links.length).toBeGreaterThan(pages.length);
    for (const link of links) {
      expect([link, (await read(new URL(link).pathname)).status]).toEqual([link, 200]);
    }
    const full = await read('/llms-full.txt');
    expect(full.text).toContain('# The command line');
  });
});
