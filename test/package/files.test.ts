import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { entryPoints } from '../../scripts/declarations.ts';

const root = join(import.meta.dirname, '../..');

/** All files that these import, however they do: `import`, `export … from`, `import()`, and the files of threads. */
function closure(files: readonly string[]): Set<string> {
  const found = new Set<string>();
  const visit = (file: string) => {
    if (found.has(file)) return;
    found.add(file);
    if (!/\.(ts|mjs|js)$/.test(file)) return;
    const text = readFileSync(join(root, file), 'utf8');
    const named = text.matchAll(/(?:from |import |import\(|new URL\()\s*['"](\.{1,2}\/[^'"]+)['"]/g);
    for (const [, path = ''] of named) {
      const target = relative(root, join(root, dirname(file), path));
      if (existsSync(join(root, target)) && statSync(join(root, target)).isFile()) visit(target);
    }
  };
  for (const file of files) visit(file);
  return found;
}

const isPacked = (file: string) =>
  file === 'package.json' || packageJson.files.some((one) => file === one || file.startsWith(`${one}/`));
const needed = closure([...Object.values(entryPoints), 'cli/main.ts', 'cli/vitest.ts']);

it('the package has every file that the program, the command line and the entry points import', () => {
  expect(needed).toContain('runtime/drivers/store/sqlite/worker.ts');
  expect(needed).toContain('test/kit/virtual-clock.ts');
  expect([...needed].filter((file) => !isPacked(file))).toEqual([]);
});

it('of the tests the package has nothing else', () => {
  const ofTests = packageJson.files.filter((one) => one.startsWith('test/'));
  expect(ofTests.filter((file) => !needed.has(file))).toEqual([]);
});

it('what it imports from other packages is installed with it', () => {
  const imported = new Set<string>();
  for (const file of needed) {
    if (!file.endsWith('.ts')) continue;
    for (const [, name = ''] of readFileSync(join(root, file), 'utf8').matchAll(
      /^(?:import|export) (?!type)[^;]*?from ['"]((?:@[^/'"]+\/)?[^./'"][^/'":]*)[^'"]*['"]/gm,
    ))
      imported.add(name);
  }
  expect(imported).toContain('elysia');
  const isThere = (name: string) => name in packageJson.dependencies || /^(bun|node)$/.test(name);
  expect([...imported].filter((name) => !isThere(name))).toEqual([]);
});
