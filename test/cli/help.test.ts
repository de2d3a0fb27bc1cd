import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { commands } from '../../cli/commands.ts';
import { serverOptions } from '../../cli/connection.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/cli.md'), 'utf8');
/** Rows of its tables: usage → sentence. In a table `|` has a backslash before it. */
const rows = new Map(
  [...page.matchAll(/^\| `millrace ([^`]+)` \| (.*) \|$/gm)].map(([, usage = '', says = '']) => [
    usage.replaceAll('\\|', '|'),
    says,
  ]),
);
const usages = commands.map(({ name, usage }) => `${name} ${usage}`.trim());

it('docs/cli.md has each command with the usage of its help, and no other', () => {
  expect([...rows.keys()].sort()).toEqual([...usages, 'help [command]'].sort());
});

it('the usage of a command has each of its options, but for those of every command that calls a server', () => {
  const isShared = (name: string) => name in serverOptions;
  for (const { name, usage, options = {} } of commands) {
    const own = Object.keys(options).filter((option) => !isShared(option));
    const shown = [...usage.matchAll(/--([a-z-]+)/g)].map(([, option]) => option);
    expect([name, ...new Set(shown)].filter((option) => !isShared(option ?? '')).sort()).toEqual(
      [name, ...own].sort(),
    );
  }
  for (const option of Object.keys(serverOptions)) expect(page).toContain(`| \`--${option}`);
});

it('an option that takes a value says which, and each has a sentence', () => {
  for (const { name, summary, options = {} } of commands) {
    expect([name, summary]).toEqual([name, expect.stringMatching(/^[a-z].*[^.]$/)]);
    for (const [option, { type, value, summary }] of Object.entries(options)) {
      expect([name, option, value !== undefined]).toEqual([name, option, type === 'string']);
      expect(summary).not.toBe('');
    }
  }
});

/** Commands that no test runs, with the reason. */
const unproven: Readonly<Record<string, string>> = {};

it('a test runs each command', () => {
  const tests = ['test/cli', 'test/clients', 'test/e2e', 'test/package'].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => /\.(test|e2e)\.ts$/.test(name) && name !== 'help.test.ts')
      .map((name) => readFileSync(join(root, folder, name), 'utf8')),
  );
  const isRun = (name: string) => {
    const words = name
      .split(' ')
      .map((word) => `'${word}'`)
      .join(', ');
    return tests.some((text) => text.includes(words));
  };
  expect(commands.map(({ name }) => name).filter((name) => !isRun(name) && !(name in unproven))).toEqual([]);
});
