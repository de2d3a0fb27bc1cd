import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';

/** Time comes from the Clock port. Only these read it themselves: drivers and their suites, what runs in a browser, and tools. */
const ownTime =
  /^(runtime\/drivers|runtime\/http|plugins\/(watch|dashboard|docs)\/page|test\/conformance|test\/e2e|test\/clients|test\/package|test\/media\/plugins|test\/kit\/engines|test\/kit\/publisher|test\/kit\/mistakes|test\/runner|test\/engines|test\/soak|test\/fuzz|bench|demo|scripts)\//;
/** A machine decides from its state and its event alone. */
const pure = /^machines\//;
const folders = ['core', 'machines', 'plugins', 'runtime', 'config', 'demo', 'test', 'bench', 'scripts'];
const root = join(import.meta.dirname, '../..');

const timers = ['setTimeout', 'setInterval'];
const members = ['Date.now', 'Bun.sleep', 'Bun.sleepSync', ...timers.map((name) => `globalThis.${name}`)];
const impure = ['Math.random', 'crypto.randomUUID', 'crypto.getRandomValues', 'performance.now'];

/** What is found below has one of these in it. */
const words =
  /setTimeout|setInterval|Date|Bun\.sleep|timers|Math\.random|randomUUID|getRandomValues|performance/;

test('nothing but drivers and tools reads the clock or sleeps', () => {
  const found = listSources()
    .filter((path) => !ownTime.test(path))
    .map((path) => [path, readFileSync(join(root, path), 'utf8')])
    // Parsing takes long, and most have none of the words.
    .filter(([, text]) => words.test(text))
    .flatMap(([path, text]) => findTime(path, text));
  expect(found).toEqual([]);
});

test.each([
  'setTimeout(run, 5)',
  'const later = setInterval',
  'await Bun.sleep(5)',
  'Bun.sleepSync(5)',
  'const at = Date.now()',
  'const at = new Date()',
  'const at = Date()',
  'globalThis.setTimeout(run, 5)',
  "import { setTimeout as sleep } from 'node:timers/promises'",
  "await import('timers/promises')",
])('%s is seen', (line) => {
  expect(line).toMatch(words);
  expect(findTime('core/a.ts', `\n${line};`)).toEqual([expect.stringMatching(/^core\/a\.ts:2 /)]);
});

test.each([
  'clock.setTimeout(run, 5)',
  'const at = clock.now()',
  'const at = new Date(row.at)',
  'let timer: ReturnType<typeof setTimeout>',
  'type Clock = { setTimeout(run: () => void): void }',
  '// Date.now() would be wrong here',
])('%s is fine', (line) => {
  expect(findTime('core/a.ts', line)).toEqual([]);
});

test.each(['Math.random()', 'crypto.randomUUID()', 'performance.now()'])('a machine without %s', (line) => {
  expect(line).toMatch(words);
  expect(findTime('machines/a.ts', line)).toHaveLength(1);
});

/** `file:line what` for each place that takes time (in a machine: also chance) from the surroundings. */
function findTime(path: string, text: string): string[] {
  const forbidden = new Set(pure.test(path) ? [...members, ...impure] : members);
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const report = (node: ts.Node) => {
    const { line } = source.getLineAndCharacterOfPosition(node.getStart());
    found.push(`${path}:${line + 1} ${node.getText().split('\n')[0]}`);
  };
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) && !ts.isExpressionWithTypeArguments(node)) return;
    if (isTime(node, forbidden)) report(node);
    else ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function isTime(node: ts.Node, forbidden: Set<string>): boolean {
  if (ts.isPropertyAccessExpression(node)) return forbidden.has(node.getText());
  if (ts.isNewExpression(node)) return node.expression.getText() === 'Date' && !node.arguments?.length;
  if (ts.isCallExpression(node)) return node.expression.getText() === 'Date';
  if (ts.isStringLiteral(node))
    return /^(node:)?timers(\/promises)?$/.test(node.text) && isImport(node.parent);
  return ts.isIdentifier(node) && timers.includes(node.text) && !isMemberName(node);
}

function isImport(node: ts.Node): boolean {
  return (
    ts.isImportDeclaration(node) || (ts.isCallExpression(node) && node.expression.getText() === 'import')
  );
}

/** The name in `clock.setTimeout`, `{ setTimeout: … }`, `setTimeout() {…}`: somebody's member, not the global. */
function isMemberName(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isImportSpecifier(parent)) return true;
  if (ts.isPropertyAccessExpression(parent)) return parent.name === node;
  return (
    (ts.isPropertyAssignment(parent) ||
      ts.isMethodDeclaration(parent) ||
      ts.isMethodSignature(parent) ||
      ts.isPropertySignature(parent)) &&
    parent.name === node
  );
}

function listSources(): string[] {
  const present = new Set(readdirSync(root));
  return folders
    .filter((folder) => present.has(folder))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((path) => /\.[cm]?[jt]s$/.test(path) && !path.includes('node_modules'))
        .map((path) => `${folder}/${path}`),
    );
}
