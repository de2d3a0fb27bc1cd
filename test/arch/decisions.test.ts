import { existsSync, readFileSync } from 'node:fs';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { decisions } from '../decisions.ts';

const root = new URL('../', import.meta.url).pathname;
const known = new Map<string, ReadonlySet<string>>();

describe.each(Object.keys(decisions))('%s', (section) => {
  it.each(decisions[section] ?? [])('%s', (_, ...tests) => {
    expect(tests.length).toBeGreaterThan(0);
    for (const test of tests) {
      const [file = '', title] = test.split(/: (.*)/s);
      expect(existsSync(root + file), file).toBe(true);
      expect([...titlesOf(file)], file).toContain(title);
    }
  });
});

/** Titles of the tests of a file, `%s` as it is written; those that are skipped are none. */
function titlesOf(file: string): ReadonlySet<string> {
  const titles = known.get(file) ?? readTitles(file);
  known.set(file, titles);
  return titles;
}

function readTitles(file: string): Set<string> {
  const source = ts.createSourceFile(file, readFileSync(root + file, 'utf8'), ts.ScriptTarget.Latest, true);
  const titles = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const [title] = node.arguments;
      const isTest = /^(it|test)\b(?!.*\.(skip|todo))/s.test(node.expression.getText());
      if (isTest && title && ts.isStringLiteralLike(title)) titles.add(title.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return titles;
}
