/**
 * Runs a file of a folder by its name: `npm run bench -- ingest --rounds 3` → `bun bench/ingest.ts --rounds 3`.
 * Without a name, or with one that does not exist, it lists what is there. Called as `run.ts <folder> [name] [arguments]`.
 */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const [folder = 'bench', name, ...rest] = process.argv.slice(2);
const root = join(import.meta.dirname, '..', folder);
const candidates = name
  ? [`${name}.ts`, join(name, 'main.ts'), `${name}.${folder.split('/').at(-1)}.ts`]
  : [];
const file = candidates.map((candidate) => join(root, candidate)).find((path) => existsSync(path));

if (!file) {
  if (name) console.error(`${folder}: no ${name}`);
  console.log(`${folder}: ${listNames().join(', ') || 'nothing there yet'}`);
  process.exit(name ? 2 : 0);
}
const child = spawn(process.execPath, [file, ...rest], { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
child.on('exit', (code) => process.exit(code ?? 1));

function listNames(): string[] {
  if (!existsSync(root)) return [];
  const names = readdirSync(root, { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory()) return existsSync(join(root, entry.name, 'main.ts')) ? [entry.name] : [];
    return entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts') ? [entry.name.slice(0, -3)] : [];
  });
  return names.sort();
}
