/**
 * Makes dist/ before the package is packed (`prepack`): the declarations of the entry points, and the client as JavaScript for Node and
 * browsers. The server itself runs from its sources.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { declarations, entryPoints } from './declarations.ts';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');

await rm(dist, { recursive: true, force: true });
for (const [file, text] of declarations(root)) await write(join(dist, 'types', file), text);
for (const [file, text] of clientModules()) await write(file, text);

/** dist/client/*.js: the sources of the client without their types. */
function clientModules(): Map<string, string> {
  const program = ts.createProgram({
    rootNames: [join(root, entryPoints.client)],
    options: {
      ...{ target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, types: [], noCheck: true },
      ...{ moduleResolution: ts.ModuleResolutionKind.Bundler, verbatimModuleSyntax: true },
      ...{ rewriteRelativeImportExtensions: true, rootDir: join(root, 'sdk/client') },
      outDir: join(dist, 'client'),
    },
  });
  const modules = new Map<string, string>();
  program.emit(undefined, (file, text) => modules.set(file, text));
  return modules;
}

async function write(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}
