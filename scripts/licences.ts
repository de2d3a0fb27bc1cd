/**
 * `npm run licences`: every package that package-lock.json names, by licence. Ends with code 1 when one may not be shipped with this
 * program: strong copyleft (GPL, AGPL and the like), or no licence at all.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { licenceProblem } from './licence-problem.ts';

interface Locked {
  readonly license?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
}

/** Packages that say it in their README alone. */
const known: Record<string, string> = { 'combine-errors': 'MIT' };
const root = join(import.meta.dirname, '..');
const { packages } = readJson(join(root, 'package-lock.json')) as { packages: Record<string, Locked> };
const names = new Map<string, string[]>();
const problems: string[] = [];

for (const [folder, locked] of Object.entries(packages)) {
  if (folder === '') continue;
  const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const licence = locked.license ?? installedLicence(folder) ?? known[name];
  // A build for another system is not installed here, and has the licence of the package that it belongs to.
  if (licence === undefined && locked.optional && !existsSync(join(root, folder))) continue;
  const problem = licenceProblem(licence);
  if (problem) problems.push(`${name}: ${problem}`);
  const key = licence ?? 'none';
  names.set(key, [...(names.get(key) ?? []), locked.dev ? `${name} (development)` : name]);
}

for (const [licence, list] of [...names].toSorted(([a], [b]) => a.localeCompare(b))) {
  console.log(`${licence}: ${list.toSorted().join(', ')}\n`);
}
for (const problem of problems) console.error(problem);
process.exit(problems.length > 0 ? 1 : 0);

function installedLicence(folder: string): string | undefined {
  const file = join(root, folder, 'package.json');
  if (!existsSync(file)) return undefined;
  const { license, licenses } = readJson(file) as { license?: unknown; licenses?: { type?: unknown }[] };
  const found = license ?? licenses?.[0]?.type;
  return typeof found === 'string' ? found : undefined;
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'));
}
