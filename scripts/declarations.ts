/**
 * The TypeScript declarations of the entry points and all that they name, made from the sources. For packages outside, whose compilers
 * may be stricter than ours, and for the report on the public API.
 */
import { dirname, join, relative } from 'node:path';
import ts from 'typescript';

/** Sources of `millrace/plugin`, `millrace/testing` and `millrace/client`. */
export const entryPoints = {
  plugin: 'sdk/plugin.ts',
  testing: 'sdk/testing.ts',
  client: 'sdk/client/index.ts',
} as const;

/** Path, such as `sdk/plugin.d.ts`, → text. Only what the entry points lead to. Throws when the sources have errors. */
export function declarations(root: string): Map<string, string> {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);
  // Nothing is written there. Beside the sources package.json would lie on itself.
  const outDir = join(root, 'dist/types');
  const program = ts.createProgram({
    rootNames: Object.values(entryPoints).map((file) => join(root, file)),
    options: {
      ...options,
      ...{ noEmit: false, declaration: true, emitDeclarationOnly: true, skipLibCheck: true },
      // `npm run check` has found the errors: only what a declaration needs is looked at.
      ...{ noCheck: true, outDir, rootDir: root },
    },
  });
  const emitted = new Map<string, string>();
  const { diagnostics } = program.emit(undefined, (file, text) =>
    emitted.set(relative(outDir, file), text.replace(relativeImport, '$1.js$2')),
  );
  const [first] = diagnostics;
  if (first) throw new Error(ts.flattenDiagnosticMessageText(first.messageText, '\n'));
  return reachable(emitted);
}

/** The extension is what the file would have once compiled: every compiler finds the declarations beside it. */
const relativeImport = /((?:from |import\()['"]\.{1,2}\/[^'"]*)\.ts(['"])/g;

function reachable(all: ReadonlyMap<string, string>): Map<string, string> {
  const found = new Map<string, string>();
  const visit = (file: string) => {
    const text = all.get(file);
    if (text === undefined || found.has(file)) return;
    found.set(file, text);
    for (const [, path = ''] of text.matchAll(/(?:from |import\()['"](\.{1,2}\/[^'"]*)\.js['"]/g)) {
      visit(`${join(dirname(file), path)}.d.ts`);
    }
  };
  for (const file of Object.values(entryPoints)) visit(file.replace(/\.ts$/, '.d.ts'));
  return found;
}
