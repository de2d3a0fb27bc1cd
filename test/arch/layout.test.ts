import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const product = ['core', 'machines', 'plugins', 'runtime', 'config', 'sdk', 'cli', 'demo', 'scripts'];
/** Written by scripts/client.ts. */
const generated: ReadonlySet<string> = new Set(['sdk/client/api.ts']);
const maxFileLines = 400;
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
  const long = sources([...product, 'bench', 'test']).filter(([, text]) => lines(text) > maxFileLines);
  expect(long.map(([path, text]) => `${path}: ${lines(text)}`)).toEqual([]);
});

/** These of the kernel still hold longer ones. One that no longer does fails the test: the list only shrinks. */
const holdLongFunctions = ['runtime/drivers/store/redis/resources.ts'];

test(`no function is longer than ${maxFunctionLines} lines, with the functions in it`, () => {
  const long = sources(product).flatMap(([path, text]) => longFunctions(path, text));
  const [allowed, found] = [new Set(holdLongFunctions), new Set(long.map(({ path }) => path))];
  expect(long.filter(({ path }) => !allowed.has(path))).toEqual([]);
  expect(holdLongFunctions.filter((path) => !found.has(path))).toEqual([]);
});

test('a function that is too long is seen, wherever it stands', () => {
  const body = 'x();\n'.repeat(maxFunctionLines);
  const seen = [{ path: 'a.ts', line: 1, lines: 82 }];
  expect(longFunctions('a.ts', `class A { go() {\n${body}} }`)).toEqual(seen);
  expect(longFunctions('a.ts', `const go = () => {\n${body}};`)).toEqual(seen);
  expect(longFunctions('a.ts', `function go() {\nconst run = () => {\n${body.slice(10)}};\n}`)).toEqual(seen);
  expect(longFunctions('a.ts', `function go() {\n${body.slice(10)}}`)).toEqual([]);
  expect(longFunctions('a.ts', `class A {\n${'go() {}\n'.repeat(maxFunctionLines)}}`)).toEqual([]);
});

/** Functions with more lines than they may have, counted whole: with the functions in them. */
function longFunctions(path: string, text: string): { path: string; line: number; lines: number }[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
  const found: { path: string; line: number; lines: number }[] = [];
  const lineOf = (at: number) => file.getLineAndCharacterOfPosition(at).line;
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node)) {
      const [from, to] = [lineOf(node.getStart(file)), lineOf(node.end)];
      if (to - from >= maxFunctionLines) found.push({ path, line: from + 1, lines: to - from + 1 });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function sources(folders: readonly string[]): (readonly [path: string, text: string])[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(
        (path) =>
          path.endsWith('.ts') && !path.includes('node_modules') && !generated.has(`${folder}/${path}`),
      )
      .map((path) => [`${folder}/${path}`, readFileSync(join(root, folder, path), 'utf8')] as const),
  );
}

function lines(text: string): number {
  return text.split('\n').length - 1;
}
