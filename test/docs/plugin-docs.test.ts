/** Every code block of docs/plugins: modules are type-checked together, plugins run in a world, tests pass. */
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { afterAll, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { configSchema } from '../../config/schema.ts';
import type { Plugin } from '../../core/plugin/plugin.ts';
import { settingsOf } from '../../core/plugin/settings.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { world } from '../kit/world.ts';
import { blocksIn, blocksOf, type PageModule, writeModules } from './code-blocks.ts';

const root = join(import.meta.dirname, '../..');
const docs = join(root, 'docs/plugins');
const maxLines = 140;
const pages = readdirSync(docs).filter((name) => name.endsWith('.md'));
const blocks = blocksOf(docs);
const folder = mkdtempSync(join(tmpdir(), 'millrace-docs-'));
afterAll(() => rmSync(folder, { recursive: true }));
symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
const modules = writeModules(blocks, folder);
const isTest = ({ file }: PageModule) => /(^|[./])test\.ts$/.test(file);
const where = ({ block: { page, line }, file }: PageModule) => `${page}:${line} ${file.split('/').at(-1)}`;

it.each(pages)(`%s has at most ${maxLines} lines`, (page) => {
  expect(readFileSync(join(docs, page), 'utf8').split('\n').length - 1).toBeLessThanOrEqual(maxLines);
});

it.each(pages)('%s is in the list of pages', (page) => {
  if (page === 'README.md') return;
  expect(readFileSync(join(docs, 'README.md'), 'utf8')).toContain(`](${page})`);
});

it('has blocks of no other language, so that none is left unchecked', () => {
  const others = blocks.filter(
    ({ language }) => !['ts', 'sh', 'json', 'yaml', 'text', ''].includes(language),
  );
  expect(others.map(({ page, line, language }) => `${page}:${line} ${language}`)).toEqual([]);
});

it('imports nothing that a plugin outside has not', () => {
  const wrong = modules.flatMap((module) =>
    [...module.block.text.matchAll(/from '([^']+)'/g)]
      .map(([, name = '']) => name)
      .filter((name) => !/^(millrace\/|node:|\.\/)|^vitest$/.test(name))
      .map((name) => `${where(module)} imports ${name}`),
  );
  expect(wrong).toEqual([]);
});

it('has modules without type errors', { timeout: 120_000 }, () => {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root);
  const program = ts.createProgram(
    modules.map(({ file }) => file),
    { ...options, noUncheckedIndexedAccess: true, typeRoots: [join(root, 'node_modules')] },
  );
  const errors = modules.flatMap((module) => {
    const source = program.getSourceFile(module.file);
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
      ({ messageText, start = 0 }) =>
        `${where(module)}, its line ${lineOf(source, start)}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
    );
  });
  expect(errors).toEqual([]);
});

const folders = Map.groupBy(modules, ({ file }) => dirname(file).slice(folder.length + 1));

it.each([...folders])('starts the program with the plugins of %s', async (_, inFolder) => {
  const imported = await Promise.all(
    inFolder
      .filter((module) => !isTest(module))
      .map(({ file }) => import(file) as Promise<{ default?: Plugin }>),
  );
  const plugins = imported.flatMap(({ default: plugin }) => (plugin?.summary ? [plugin] : []));
  await using w = await world({ plugins: [...(await allPlugins()), ...plugins] });
  expect((await w.request('GET', '/health/ready', { key: null })).status).toBe(200);
});

it('has tests that pass', { timeout: 120_000 }, () => {
  const tests = modules.filter(isTest).map(({ file }) => file);
  expect(tests.length).toBeGreaterThan(0);
  // As `millrace plugin test` runs those of a package, which has Millrace in its node_modules.
  const options = {
    include: ['**/*test.ts'],
    setupFiles: [join(root, 'test/kit/entry-points.ts')],
    experimental: { viteModuleRunner: false, nodeLoader: false },
    ...{ pool: 'forks', maxWorkers: 1, isolate: false, testTimeout: 60_000 },
  };
  const config = join(folder, 'vitest.config.ts');
  writeFileSync(config, `export default ${JSON.stringify({ test: options })};\n`);
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const ran = spawnSync(process.execPath, ['--bun', vitest, 'run', '--root', folder, '--config', config], {
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  });
  const output = ran.stdout + ran.stderr;
  expect({ status: ran.status, output: ran.status === 0 ? '' : output }).toEqual({ status: 0, output: '' });
  // None was passed over.
  expect(output).toMatch(new RegExp(`Test Files +${tests.length} passed`));
});

it.each(
  blocks
    .filter(({ language }) => language === 'json' || language === 'yaml')
    .map((block) => [`${block.page}:${block.line}`, block] as const),
)('%s is data, and a config if it has a key of one', (_, { text, language }) => {
  const given = (language === 'json' ? JSON.parse(text) : parseYaml(text)) as Record<string, unknown>;
  const isConfig = Object.keys(given).some((key) => Object.hasOwn(configSchema.properties, key));
  if (isConfig) expect(settingsOf(configSchema, { given, whole: 'config' }).problems).toEqual([]);
});

it('fails on a block that never ends', () => {
  expect(() => blocksIn('a.md', 'text\n```ts\n')).toThrow('a.md:2: this block never ends');
});

it('puts a module that is shown again into a folder of its own', () => {
  const markdown = ['// plugin.ts', '// plugin.test.ts', '// plugin.ts'].map(
    (line) => `\`\`\`ts\n${line}\n\`\`\`\n`,
  );
  const files = writeModules(blocksIn('twice.md', markdown.join('')), folder).map(({ file }) => file);
  expect(files).toEqual(
    ['1/plugin.ts', '1/plugin.test.ts', '2/plugin.ts'].map((name) => join(folder, 'twice', name)),
  );
  expect(files.every((file) => existsSync(dirname(file)))).toBe(true);
});

function lineOf(source: ts.SourceFile | undefined, start: number): number {
  return source ? source.getLineAndCharacterOfPosition(start).line + 1 : 0;
}
