import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const product = ['core', 'machines', 'plugins', 'runtime', 'config', 'demo', 'scripts'];
const maxFileLines = 400;
/** These may be longer: they are rewritten with the kernel. */
const rewrittenWithTheKernel = ['test/conformance/bus/kafka-faults.e2e.ts'];
const maxFunctionLines = 80;

test('core and runtime have folders, and no files but main.ts', () => {
  const loose = ['core', 'runtime'].flatMap((folder) =>
    readdirSync(join(root, folder), { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => `${folder}/${name}`),
  );
  expect(loose).toEqual(['runtime/main.ts']);
});

test(`no file is longer than ${maxFileLines} lines`, () => {
  const long = sources([...product, 'bench', 'test']).filter(
    ([path, text]) => lines(text) > maxFileLines && !rewrittenWithTheKernel.includes(path),
  );
  expect(long.map(([path, text]) => `${path}: ${lines(text)}`)).toEqual([]);
});

test(`no function is longer than ${maxFunctionLines} lines`, () => {
  expect(sources(product).flatMap(([path, text]) => longFunctions(path, text))).toEqual([]);
});

test('a function that is too long is seen, wherever it stands', () => {
  const body = 'x();\n'.repeat(maxFunctionLines);
  expect(longFunctions('a.ts', `class A { go() {\n${body}} }`)).toEqual(['a.ts:1: 82']);
  expect(longFunctions('a.ts', `const go = () => {\n${body}};`)).toEqual(['a.ts:1: 82']);
  expect(longFunctions('a.ts', `function go() {\n${'x();\n'.repeat(maxFunctionLines - 2)}}`)).toEqual([]);
});

/** Functions with more lines of their own than they may have: those of functions within them are theirs. */
function longFunctions(path: string, text: string): string[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
  const found: string[] = [];
  const lineOf = (at: number) => file.getLineAndCharacterOfPosition(at).line;
  /** Lines of the functions in a node, beyond the first of each. */
  const visit = (node: ts.Node): number => {
    let inner = 0;
    ts.forEachChild(node, (child) => {
      inner += visit(child);
    });
    if (!ts.isFunctionLike(node)) return inner;
    const [from, to] = [lineOf(node.getStart(file)), lineOf(node.end)];
    if (to - from + 1 - inner > maxFunctionLines) found.push(`${path}:${from + 1}: ${to - from + 1 - inner}`);
    return to - from;
  };
  visit(file);
  return found;
}

function sources(folders: readonly string[]): (readonly [path: string, text: string])[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => [`${folder}/${path}`, readFileSync(join(root, folder, path), 'utf8')] as const),
  );
}

function lines(text: string): number {
  return text.split('\n').length - 1;
}
