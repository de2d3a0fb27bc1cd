/**
 * `npm run check`: format and lint, types, import rules, licences, public API, dead code. Runs all of them even when one fails, so that one run
 * shows everything; prints how long each took. `npm run check -- types` runs one of them: lint, types, imports, licences, api or unused.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const all: Record<string, [title: string, ...command: string[]]> = {
  lint: ['format and lint', 'node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.'],
  // What the last run found out is kept, so that only what has changed since is looked at.
  types: [
    'types',
    'node_modules/typescript/bin/tsc',
    ...['--pretty', 'false', '--incremental', '--tsBuildInfoFile', 'node_modules/.cache/check.tsbuildinfo'],
  ],
  imports: ['import rules', 'scripts/import-rules.ts'],
  licences: ['licences', 'scripts/licences.ts'],
  api: ['public API', 'scripts/api-report.ts', '--check'],
  unused: ['dead code', 'node_modules/knip/bin/knip.js', '--no-progress'],
};
const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !Object.hasOwn(all, name));
if (unknown.length > 0) {
  console.error(`no check is called ${unknown.join(', ')}; expected one of ${Object.keys(all).join(', ')}`);
  process.exit(2);
}
const steps = Object.entries(all).flatMap(([name, step]) =>
  asked.length === 0 || asked.includes(name) ? [step] : [],
);
const failed: string[] = [];
for (const [name, ...command] of steps) {
  const started = performance.now();
  const { code, output } = await run(command);
  if (code !== 0) failed.push(name);
  if (code !== 0 && output) console.log(output);
  console.log(
    `${code === 0 ? 'ok  ' : 'FAIL'} ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`,
  );
}
if (failed.length > 0) console.error(`check failed: ${failed.join(', ')}`);
process.exit(failed.length > 0 ? 1 : 0);

function run(command: string[]): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, ['--bun', ...command], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  return new Promise((resolve) =>
    child.on('close', (code) => resolve({ code: code ?? 1, output: output.trim() })),
  );
}
