import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { type Served, served } from '../../core/http/served.ts';
import { framed, listOfPages, missing } from './frame.ts';
import { llmsFullText, llmsText, markdownWithLinks } from './llms.ts';
import { type Rendered, renderMarkdown } from './markdown.ts';
import { imageTypes, type Library, linkTarget, markdownPathOf, type Page, readLibrary } from './pages.ts';

/** The pages of a folder of Markdown, as they are served. */
export interface Guides {
  /**
   * By its path below `/docs/guides`: the list of pages (nothing), a page (`obs`), its Markdown (`obs.md`) or an image
   * (`dashboard.png`). A path that leads to nothing is answered in words.
   */
  find(path: string): Promise<{ readonly served: Served; readonly isFound: boolean }>;
  /** `/llms.txt` and `/llms-full.txt`, with links to `baseUrl`. The last of each is kept: anybody may ask, and often. */
  llms(kind: 'list' | 'full', baseUrl: string): Promise<Served>;
}

/** Nothing comes from elsewhere, and there is nothing inline. */
const policy = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:"],
  ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
].join('; ');

/** The folder is read when something of it is first asked for; each page is rendered once. */
export function guides(folder: string): Guides {
  let reading: Promise<Library> | undefined;
  const library = () => {
    reading ??= readLibrary(folder).catch((error: unknown) => {
      // The next request tries again: the system may have been out of descriptors.
      reading = undefined;
      throw error;
    });
    return reading;
  };
  const texts = new Map<string, { readonly baseUrl: string; readonly served: Served }>();
  /** What stands between the addresses: strangers may ask with a new host each time. */
  const between = new Map<string, readonly string[]>();
  const made = new Map<string, Served>();
  const once = async (name: string, make: () => Served | Promise<Served>) => {
    const known = made.get(name) ?? (await make());
    made.set(name, known);
    return known;
  };
  return {
    async find(path) {
      const all = await library();
      const name = path.replace(/\/+$/, '');
      const make = found(name, { folder, library: all });
      if (make) return { served: await once(name, make), isFound: true };
      const title = 'No such page';
      return { served: document(missing(name), { title, library: all }), isFound: false };
    },
    async llms(kind, baseUrl) {
      const known = texts.get(kind);
      if (known?.baseUrl === baseUrl) return known.served;
      const all = await library();
      const pieces = between.get(kind) ?? (kind === 'full' ? llmsFullText : llmsText)(all, mark).split(mark);
      between.set(kind, pieces);
      const made = served(Buffer.from(pieces.join(baseUrl)), { type: 'text/plain; charset=utf-8' });
      texts.set(kind, { baseUrl, served: made });
      return made;
    },
  };
}

/** In no page. */
const mark = '\0';

/** How to make what has this name. Only names that the library lists lead to a file. */
function found(
  name: string,
  { folder, library }: { folder: string; library: Library },
): (() => Served | Promise<Served>) | undefined {
  if (name === '')
    return () => document(listOfPages(library, introductionOf(library)), { title: 'Guides', library });
  const page = library.byName.get(name);
  if (page) return () => document(rendered(page, library), { title: page.title, library, page });
  const source = [...library.byFile.values()].find((one) => markdownPathOf(one) === `/docs/guides/${name}`);
  if (source) {
    return () =>
      served(Buffer.from(markdownWithLinks(source, { library, baseUrl: '' })), {
        type: 'text/markdown; charset=utf-8',
      });
  }
  if (!library.images.has(name)) return undefined;
  const type = imageTypes[extname(name)] ?? '';
  return async () => served(await readFile(join(folder, name)), { type, packed: 'already' });
}

function rendered(page: Page, library: Library): Rendered {
  return renderMarkdown(page.markdown, { linkTo: (target) => linkTarget(target, { page, library }) });
}

function introductionOf(library: Library): Rendered | undefined {
  return library.introduction && rendered(library.introduction, library);
}

function document(page: Rendered, options: Parameters<typeof framed>[1]): Served {
  return served(Buffer.from(framed(page, options)), {
    type: 'text/html; charset=utf-8',
    headers: { 'content-security-policy': policy },
  });
}
