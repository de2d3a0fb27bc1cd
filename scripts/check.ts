/**
 * `npm run check`: format and lint, types, import rules, licences, dead code. Runs all of them even when one fails, so that one run
 * shows everything; prints how long each took.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const steps: [name: string, ...command: string[]][] = [
  ['format and lint', 'node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.'],
  // What the last run found out is kept, so that only what has changed since is looked at.
  [
    'types',
    'node_modules/typescript/bin/tsc',
    ...['--pretty', 'false', '--incremental', '--tsBuildInfoFile', 'node_modules/.cache/check.tsbuildinfo'],
  ],
  ['import rules', 'scripts/import-rules.ts'],
  ['licences', 'scripts/licences.ts'],
  ['dead code', 'node_modules/knip/bin/knip.js', '--no-progress'],
];
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
