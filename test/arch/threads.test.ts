import { join } from 'node:path';
import { Glob } from 'bun';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const threads = [...new Glob('{runtime,plugins}/**/*worker.ts').scanSync(root)];

test.each(threads)('the thread %s loads nothing that takes long to load', async (thread) => {
  const built = await Bun.build({
    entrypoints: [join(root, thread)],
    target: 'bun',
    packages: 'external',
  });
  const [bundle] = await Promise.all(built.outputs.map((output) => output.text()));
  const packages = [...bundle.matchAll(/^import .*?"([^"]+)";$/gm)].map(([, name]) => name);
  // 18 of the 35 ms that the store's thread took to start were TypeBox, for a table of limits.
  expect(packages.filter((name) => /^(@sinclair\/typebox|elysia|xstate|yaml)/.test(name))).toEqual([]);
});

test('there are threads', () => {
  expect(threads).toContain('runtime/drivers/store/sqlite/worker.ts');
});
