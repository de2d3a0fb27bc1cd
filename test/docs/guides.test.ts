/** The form of the guides. That what they say works: test/e2e/guides. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'docs/guides');
const maxLines = 130;
const read = (name: string) => readFileSync(join(folder, name), 'utf8');
const pages = readdirSync(folder).filter((name) => name !== 'README.md');

it.each(pages)(
  '%s has a title, says first what the reader will have, is short, and is in the index',
  (name) => {
    const [title, empty, first = '', ...rest] = read(name).split('\n');
    expect([title?.startsWith('# '), empty]).toEqual([true, '']);
    expect(first).toMatch(/^At the end of this page, /);
    expect(rest.length).toBeLessThan(maxLines);
    const isSecondPart = name === 'webhook-signatures.md';
    expect(read(isSecondPart ? 'webhooks.md' : 'README.md')).toContain(`](${name})`);
  },
);

it('names the addresses of platforms that the dashboard offers', () => {
  const presets = readFileSync(join(root, 'plugins/dashboard/page/pages/stream-targets.js'), 'utf8');
  const urls = [...presets.matchAll(/^ +(?:\['\w+', )?'(rtmps:\/\/[^']+)',/gm)].map(([, url = '']) => url);
  expect(urls.length).toBeGreaterThan(2);
  expect(urls.filter((url) => !read('multistream.md').includes(`\`${url}\``))).toEqual([]);
});
