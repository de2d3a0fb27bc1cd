#!/usr/bin/env node
// The command `millrace`: runs cli/main.ts with the Bun that was installed with it. For Node 20, which cannot run it itself.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** EX_CONFIG of sysexits.h: starting again will not help. */
const badConfig = 78;

/**
 * Bun in node_modules, of this package first, then of the folders above it. Its postinstall swaps a stub for the binary; where npm
 * ran no install scripts the binary still lies in its own package, and of those libc and processor decide which one runs.
 */
function findBun() {
  for (let folder = root; ; folder = dirname(folder)) {
    const modules = join(folder, 'node_modules');
    const builds = existsSync(join(modules, '@oven')) ? readdirSync(join(modules, '@oven')) : [];
    const candidates = [
      join(modules, 'bun/bin/bun.exe'),
      ...builds.flatMap((name) =>
        ['bun', 'bun.exe'].map((file) => join(modules, '@oven', name, 'bin', file)),
      ),
    ];
    const found = candidates.find(
      (file) => existsSync(file) && spawnSync(file, ['--version'], { stdio: 'ignore' }).status === 0,
    );
    if (found !== undefined) return found;
    if (folder === dirname(folder)) return undefined;
  }
}

const bun = findBun();
if (bun === undefined) {
  const how = existsSync(join(root, 'package-lock.json')) ? `npm ci, in ${root}` : 'npm install';
  process.stderr.write(
    `millrace: there is no Bun in node_modules that runs on ${process.platform} ${process.arch}. Install it again: ${how}.\n`,
  );
  process.exit(badConfig);
}

// As in scripts/bun.sh: pages that are freed for a moment cost a fourth of a broadcast. `--no-install`: Bun would look for a package
// that is missing in the registry.
const child = spawn(bun, ['--no-install', join(root, 'cli/main.ts'), ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { MIMALLOC_PURGE_DELAY: '10000', MIMALLOC_PURGE_HOLES: '0', ...process.env },
});
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']) {
  process.on(signal, () => {
    // A terminal sends its own to both.
    if (!process.stdin.isTTY || signal === 'SIGTERM' || signal === 'SIGUSR2') child.kill(signal);
  });
}
// npm and npx put a shell in between that ends on a signal and hands nothing on.
if (process.env.npm_lifecycle_event !== undefined) {
  const shell = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(watch);
    child.kill('SIGTERM');
  }, 200);
}
child.on('error', (error) => {
  process.stderr.write(`millrace: ${bun} cannot be started: ${error.message}\n`);
  process.exit(1);
});
child.on('exit', (code, signal) => process.exit(signal === null ? code : 128 + constants.signals[signal]));
