/** Cruises the project's sources and reports every import that the rules of `.dependency-cruiser.ts` forbid. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { cruise, type ICruiseResult } from 'dependency-cruiser';
import rules from '../.dependency-cruiser.ts';

const folders = [
  ...['core', 'machines', 'plugins', 'runtime', 'config', 'sdk', 'cli', 'demo'],
  ...['examples', 'test', 'bench', 'scripts'],
];

/**
 * What is wrong below `root`, a line each; empty when all is well. A source file that was not read is wrong too:
 * without a TypeScript that it can use, dependency-cruiser reads no module at all and passes.
 */
export async function findForbiddenImports(root: string): Promise<{ read: number; problems: string[] }> {
  const present = folders.filter((folder) => existsSync(join(root, folder)));
  const { output } = await cruise(present, {
    ...rules.options,
    baseDir: root,
    ruleSet: rules,
    validate: true,
  });
  const result = output as ICruiseResult;
  const read = new Set(result.modules.map((module) => module.source));
  const sources = present.flatMap((folder) => listSources(root, folder));
  const problems = result.summary.violations.map(
    ({ rule, from, to, cycle }) =>
      `${rule.name}: ${from} → ${cycle ? cycle.map(({ name }) => name).join(' → ') : to}`,
  );
  for (const source of sources) if (!read.has(source)) problems.push(`not read: ${source}`);
  if (sources.length === 0) problems.push(`not read: no source below ${root}`);
  return { read: sources.filter((source) => read.has(source)).length, problems };
}

function listSources(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts') && !path.includes('node_modules'))
    .map((path) => `${folder}/${path}`);
}

if (import.meta.main) {
  const { read, problems } = await findForbiddenImports(join(import.meta.dirname, '..'));
  for (const problem of problems) console.error(problem);
  console.log(`${read} sources read, ${problems.length} problems`);
  process.exit(problems.length > 0 ? 1 : 0);
}
