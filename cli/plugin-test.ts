import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Command, complain, exits } from './command.ts';

/** Runs vitest with Bun, which a plugin's package need not know how to find and set up. */
export const pluginTest: Command = {
  name: 'plugin test',
  usage: '[FILE…]',
  summary: 'runs the tests of the plugin in this folder',
  details: 'Needs vitest in its devDependencies. Tests are *.test.ts, below this folder.',
  arguments: { least: 0, most: Number.POSITIVE_INFINITY },
  async run({ arguments: files }) {
    const vitest = installed(process.cwd());
    if (vitest === undefined) {
      complain('millrace plugin test: vitest is not installed here: npm install --save-dev vitest');
      return exits.failed;
    }
    const config = join(import.meta.dirname, 'vitest.ts');
    const child = spawn(
      process.execPath,
      ['--bun', vitest, 'run', '--root', process.cwd(), '--config', config, ...files],
      { stdio: 'inherit' },
    );
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => child.kill(signal));
    return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? exits.failed)));
  },
};

/** The program of the vitest that is nearest to a folder. */
function installed(folder: string): string | undefined {
  const program = join(folder, 'node_modules/vitest/vitest.mjs');
  if (existsSync(program)) return program;
  return folder === dirname(folder) ? undefined : installed(dirname(folder));
}
