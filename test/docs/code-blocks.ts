import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A fenced block of a page. */
export interface CodeBlock {
  readonly page: string;
  /** Line of the page on which the fence opens, from 1. */
  readonly line: number;
  /** What stands behind the fence: `ts`, `sh`, `json`. */
  readonly language: string;
  readonly text: string;
}

/** All blocks of the pages of a folder, as they come. */
export function blocksOf(folder: string): readonly CodeBlock[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .sort()
    .flatMap((page) => blocksIn(page, readFileSync(join(folder, page), 'utf8')));
}

/** Those of one page. A block of a list item is without the indentation of its fence. */
export function blocksIn(page: string, markdown: string): readonly CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let open: { line: number; indent: number; language: string; lines: string[] } | undefined;
  for (const [index, line] of markdown.split('\n').entries()) {
    const fence = /^( *)```(\S*)/.exec(line);
    if (open && fence) {
      const { line: at, language, lines } = open;
      blocks.push({ page, line: at, language, text: `${lines.join('\n')}\n` });
      open = undefined;
    } else if (open) open.lines.push(line.slice(open.indent));
    else if (fence) {
      const [, indent = '', language = ''] = fence;
      open = { line: index + 1, indent: indent.length, language, lines: [] };
    }
  }
  if (open) throw new Error(`${page}:${open.line}: this block never ends`);
  return blocks;
}

/** A module that a page shows. */
export interface PageModule {
  readonly block: CodeBlock;
  /** Path of its file, where `writeModules` wrote it. */
  readonly file: string;
}

/**
 * Writes the `ts` blocks of each page to files. The first line of a block names its file: `// plugin.ts`. Without a name it is
 * `index.ts` with a default export, `index.test.ts` with an import of Vitest, as `millrace plugin new` names them, and else a module
 * that nobody imports. The blocks of a page lie in one folder; one with a name that is there already begins the next folder, with
 * nothing in it.
 */
export function writeModules(blocks: readonly CodeBlock[], root: string): readonly PageModule[] {
  const taken = new Set<string>();
  const folders = new Map<string, number>();
  return blocks
    .filter(({ language }) => language === 'ts')
    .map((block) => {
      const { page, line, text } = block;
      const name = nameOf(text) ?? `line-${line}.ts`;
      let number = folders.get(page) ?? 1;
      const fileIn = (one: number) => join(root, page.replace(/\.md$/, ''), `${one}`, name);
      if (taken.has(fileIn(number))) number += 1;
      folders.set(page, number);
      const file = fileIn(number);
      taken.add(file);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
      return { block, file };
    });
}

function nameOf(text: string): string | undefined {
  const [, given] = /^\/\/ ([\w./-]+\.ts)\n/.exec(text) ?? [];
  if (given !== undefined) return given;
  if (text.includes("from 'vitest'")) return 'index.test.ts';
  return /^export default /m.test(text) ? 'index.ts' : undefined;
}
