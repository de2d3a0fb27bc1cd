/**
 * Prints the packages of package-lock.json that node_modules lacks or has in another version, one a line:
 * `bun scripts/missing-packages.ts <program>`. The server (runtime/main.ts) needs none that are for development.
 */
import { readFile } from 'node:fs/promises';

interface LockedPackage {
  readonly version: string;
  readonly dev?: boolean;
  /** Installed where it can be: the builds of one platform, and what they need. */
  readonly optional?: boolean;
  readonly devOptional?: boolean;
}

const needsTools = process.argv[2] !== 'runtime/main.ts';
const { packages } = await json<{ packages: Record<string, LockedPackage> }>('package-lock.json');
for (const [path, locked] of Object.entries(packages)) {
  if (path === '' || locked.optional || locked.devOptional || (locked.dev && !needsTools)) continue;
  const found = await json<{ version: string }>(`${path}/package.json`).catch(() => undefined);
  if (found?.version === locked.version) continue;
  const instead = found ? ` (${found.version} is there)` : '';
  console.log(`  ${path.replace(/^node_modules\//, '')} ${locked.version}${instead}`);
}

async function json<T>(path: string): Promise<T> {
  return JSON.parse(await readFile(path, 'utf8')) as T;
}
