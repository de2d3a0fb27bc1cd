import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const source = (id: string) => `
import { definePlugin, Fault, Type } from 'millrace/plugin';
export default { ...definePlugin({ id: '${id}', summary: 'x', contract: 3 }), Fault, Type };
`;
let folder: string;
const write = async (path: string, text: string) => {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-outside-'));
  await write('alone/plugin.ts', source('alone'));
  await write(
    'package/package.json',
    '{"name": "@acme/views", "type": "module", "exports": "./src/main.ts"}',
  );
  await write('package/src/main.ts', "export { default } from './views.ts';\n");
  await write('package/src/views.ts', source('views'));
  await write(
    'common.cjs',
    `const { Fault, Type } = require('millrace/plugin');
     module.exports = { id: 'common', summary: 'x', contract: 3, Fault, Type };`,
  );
  await write('old/package.json', '{"name": "old", "main": "lib/main.js"}');
  await write('old/lib/main.js', source('old'));
  await write(
    'site/node_modules/@acme/installed/package.json',
    '{"name": "@acme/installed", "main": "main.ts"}',
  );
  await write('site/node_modules/@acme/installed/main.ts', source('installed'));
  const millrace = 'site/node_modules/millrace';
  await write(`${millrace}/package.json`, '{"version": "9.9.9", "exports": {"./plugin": "./plugin.js"}}');
  await write(
    `${millrace}/plugin.js`,
    'export class Fault {}; export const Type = 1; export const definePlugin = (p) => p;',
  );
  await symlink(join(folder, 'package'), join(folder, 'site/node_modules/@acme/views'));
});
afterAll(() => rm(folder, { recursive: true }));

// In a process of its own: this one has the entry points of our own tests.
async function load(from: string, ids: readonly string[]) {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(import.meta.dirname, 'outside-child.ts'), join(folder, from), ...ids],
    { cwd: folder },
  );
  return JSON.parse(stdout);
}

it.each([
  ['a file with no node_modules above it', '.', './alone/plugin.ts', 'alone'],
  ['a CommonJS module', '.', './common.cjs', 'common'],
  ['a folder with a package', '.', './package', 'views'],
  ['a folder whose package names a main file', '.', './old', 'old'],
  ['a package beside a Millrace of another version', 'site', '@acme/installed', 'installed'],
  ['a linked package', 'site', '@acme/views', 'views'],
])('gives %s the running program', async (_, from, id, plugin) => {
  expect(await load(from, [id])).toEqual({
    problems: [],
    found: [{ id: plugin, hasOurFault: true, hasOurType: true }],
  });
});

it('gives all of them the same', async () => {
  const { problems, found } = await load('site', ['@acme/installed', '@acme/views', '../alone/plugin.ts']);
  expect([problems, found.map(({ hasOurFault }: { hasOurFault: boolean }) => hasOurFault)]).toEqual([
    [],
    [true, true, true],
  ]);
});
