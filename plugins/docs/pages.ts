import { readdir, readFile } from 'node:fs/promises';
import { extname, join, posix } from 'node:path';
import { firstSentence, titleOf } from './markdown.ts';

/** A page of `docs/`. */
export interface Page {
  /** Below `docs/`: `guides/obs.md`. */
  readonly file: string;
  /** In its URL: `obs`. */
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  readonly markdown: string;
}

export interface Section {
  readonly title: string;
  readonly pages: readonly Page[];
}

/** All pages of `docs/` with their images. */
export interface Library {
  /** In the order in which they are read. */
  readonly sections: readonly Section[];
  /** What the list of pages begins with: `guides/README.md`. */
  readonly introduction: Page | undefined;
  readonly byName: ReadonlyMap<string, Page>;
  readonly byFile: ReadonlyMap<string, Page>;
  /** Paths of images below `docs/`. */
  readonly images: ReadonlySet<string>;
}

/** Pages for those who build the program, or who want to know how it works; all other pages are for those who use it. */
const inside = [
  ...['how-it-works', 'life-of-a-packet', 'life-of-a-request', 'actors-and-commits', 'several-nodes'],
  ...['machines', 'decisions', 'dependencies', 'performance'],
];
const introductionFile = 'guides/README.md';
/** The order of the pages for users; what is not named here follows by name. */
const handbook = ['dashboard', 'embedding', 'api', 'cli', 'operating', 'limits', 'reference'];

/** Reads the Markdown files of a folder, of its `guides`, its `clients` and its `plugins`. */
export async function readLibrary(folder: string): Promise<Library> {
  const files = (await readdir(folder, { recursive: true })).map((path) => path.replaceAll('\\', '/')).sort();
  const pages = await Promise.all(
    files.filter((file) => file.endsWith('.md')).map((file) => read(folder, file)),
  );
  const byFile = new Map(pages.map((page) => [page.file, page]));
  const own = pages.filter(({ file }) => !file.includes('/'));
  const of = (name: string) => pages.filter(({ file }) => posix.dirname(file) === name);
  const introduction = byFile.get(introductionFile);
  const sections = [
    {
      title: 'Guides',
      pages: inOrder(of('guides'), linksOf(introduction)).filter((page) => page !== introduction),
    },
    {
      title: 'Handbook',
      pages: inOrder(
        own.filter(({ name }) => !inside.includes(name)),
        handbook,
      ),
    },
    { title: 'Other platforms and clients', pages: inOrder(of('clients'), []) },
    {
      title: 'Plugins',
      pages: inOrder(of('plugins'), ['plugins', ...linksOf(byFile.get('plugins/README.md'))]),
    },
    {
      title: 'How it works',
      pages: inOrder(
        own.filter(({ name }) => inside.includes(name)),
        inside,
      ),
    },
  ];
  const shown = sections.flatMap((section) => section.pages);
  return {
    sections: sections.filter((section) => section.pages.length > 0),
    introduction,
    byName: new Map(shown.map((page) => [page.name, page])),
    byFile,
    images: new Set(files.filter((file) => extname(file) in imageTypes)),
  };
}

/** Media types of images, by the endings of their names. */
export const imageTypes: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.webp': 'image/webp',
  '.svg': 'image/svg+xml',
};

async function read(folder: string, file: string): Promise<Page> {
  const markdown = await readFile(join(folder, file), 'utf8');
  return { file, name: nameOf(file), title: titleOf(markdown), summary: firstSentence(markdown), markdown };
}

/** `guides/obs.md` → `obs`, `api.md` → `api`, `plugins/README.md` → `plugins` */
function nameOf(file: string): string {
  return file
    .replace(/\.md$/, '')
    .replace(/^guides\//, '')
    .replace(/\/README$/, '');
}

/** Names of the pages that a page links to, in its order. */
function linksOf(page: Page | undefined): string[] {
  if (!page) return [];
  const targets = [...page.markdown.matchAll(/\]\(([^)#\s]+\.md)/g)].map(([, target = '']) => target);
  return targets.map((target) => nameOf(posix.join(posix.dirname(page.file), target)));
}

function inOrder(pages: readonly Page[], names: readonly string[]): Page[] {
  const place = ({ name }: Page) => (names.includes(name) ? names.indexOf(name) : names.length);
  return pages.toSorted((a, b) => place(a) - place(b) || (a.name < b.name ? -1 : 1));
}

/** Where a link of a page leads, as a path of this server with or without `#…`; undefined: to nothing that is served. */
export function linkTarget(
  target: string,
  { page, library }: { page: Page; library: Library },
): string | undefined {
  if (/^(https?:|mailto:)/.test(target) || target.startsWith('#') || /^\/(?!\/)/.test(target)) return target;
  const [path = '', anchor] = target.split('#');
  const file = posix.join(posix.dirname(page.file), path).replace(/\/$/, '');
  const found = library.byFile.get(file) ?? library.byFile.get(posix.join(file, 'README.md'));
  if (found) return `${pathOf(found)}${anchor === undefined ? '' : `#${anchor}`}`;
  return library.images.has(file) ? `/docs/guides/${file}` : undefined;
}

/** `/docs/guides/obs` */
export function pathOf({ file, name }: Page): string {
  return file === introductionFile ? '/docs/guides' : `/docs/guides/${name}`;
}

/** `/docs/guides/obs.md` */
export function markdownPathOf({ name }: Page): string {
  return `/docs/guides/${name}.md`;
}
