import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { contractVersion } from '../core/plugin/plugin.ts';
import packageJson from '../package.json' with { type: 'json' };
import { type Command, complain, exits, print } from './command.ts';

const root = dirname(import.meta.dirname);
const kebabCase = '[a-z][a-z0-9]*(?:-[a-z0-9]+)*';
/** npm takes longer ones; nobody reads them. */
const maxLength = 60;

/** Writes a package with a plugin, its test, and all that they need; it passes at once. */
export const pluginNew: Command = {
  name: 'plugin new',
  usage: '<id|@scope/id> [--dir DIR]',
  summary: 'writes the package of a new plugin, with a test that passes',
  details: 'Writes into the folder <id>, or DIR, which must be empty or not exist.',
  options: { dir: { type: 'string', value: 'DIR', summary: 'the folder. Default: <id>' } },
  arguments: { least: 1, most: 1 },
  async run({ arguments: [name = ''], options: { dir } }) {
    const [, scope = '', id] = new RegExp(`^(@[a-z0-9][a-z0-9._-]*/)?(${kebabCase})$`).exec(name) ?? [];
    if (id === undefined || name.length > maxLength) {
      complain(
        `millrace plugin new: expected an id in kebab-case, such as live-captions or @acme/live-captions`,
      );
      return exits.usage;
    }
    if (existsSync(join(root, 'plugins', id))) {
      complain(`millrace plugin new: ${id} is a plugin that comes with Millrace; choose another id`);
      return exits.usage;
    }
    const folder = resolve(typeof dir === 'string' ? dir : id);
    const present = await readdir(folder).catch(() => []);
    if (present.length > 0) {
      complain(`millrace plugin new: ${folder} is not empty; choose another folder with --dir`);
      return exits.failed;
    }
    // A name without a scope belongs to everyone on npm: it says what it is for.
    await write(folder, { id, name: scope === '' ? `millrace-${id}` : name });
    const here = relative(process.cwd(), folder) || '.';
    print(`Wrote ${folder}. Next:\n  cd ${here}\n  npm install\n  npm test`);
    return exits.fine;
  },
};

async function write(folder: string, { id, name }: { id: string; name: string }): Promise<void> {
  const words = id.split('-');
  const capital = words.map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`).join('');
  const values: Readonly<Record<string, string>> = {
    ...{ id, package: name, contract: String(contractVersion) },
    // An identifier: `new` and the like are none.
    ...{ Name: capital, name: `${capital[0]?.toLowerCase()}${capital.slice(1)}Plugin` },
  };
  await mkdir(folder, { recursive: true });
  const template = join(import.meta.dirname, 'template');
  for (const file of await readdir(template)) {
    const text = await readFile(join(template, file), 'utf8');
    const filled = text.replace(/\{\{(\w+)\}\}/g, (_, key: string) => values[key] ?? '');
    const target = file === 'gitignore.txt' ? '.gitignore' : basename(file, '.txt');
    await writeFile(join(folder, target), filled);
  }
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(await manifest(name), null, 2)}\n`);
}

async function manifest(name: string): Promise<object> {
  const { typescript, vitest } = packageJson.devDependencies;
  return {
    ...{ name, version: '0.1.0', description: 'Says hello to each stream', type: 'module' },
    keywords: ['millrace-plugin'],
    exports: './index.ts',
    files: ['index.ts'],
    scripts: { test: 'millrace plugin test', check: 'tsc && millrace plugin check .' },
    peerDependencies: { millrace: `^${packageJson.version}` },
    devDependencies: { millrace: await ownSource(), typescript, vitest },
  };
}

/** Where npm has this Millrace from: its version, or the file or folder of one that is in no registry. */
async function ownSource(): Promise<string> {
  const modules = dirname(root);
  if (basename(modules) !== 'node_modules') return `file:${root}`;
  const lock = await readFile(join(modules, '.package-lock.json'), 'utf8').catch(() => '{}');
  const resolved: unknown = JSON.parse(lock).packages?.['node_modules/millrace']?.resolved;
  if (typeof resolved !== 'string' || !resolved.startsWith('file:')) return `^${packageJson.version}`;
  return `file:${resolve(dirname(modules), resolved.slice('file:'.length))}`;
}
