import packageJson from '../../package.json' with { type: 'json' };
import { type Library, linkTarget, markdownPathOf, type Page, pathOf } from './pages.ts';

/** Written by programs; their facts are in `/openapi.json` too, or of use to nobody who calls the API. */
const generated = new Set(['reference.md', 'machines.md']);

/** `/llms.txt` in the form of llmstxt.org: what there is to read, for programs that read. */
export function llmsText({ sections, introduction }: Library, baseUrl: string): string {
  const lists = sections.map(({ title, pages }) => {
    // By the format, what may be left out where space is short has this name.
    const name = title === 'How it works' ? 'Optional' : title;
    const first = title === 'Guides' && introduction ? [introduction] : [];
    const entries = [...first, ...pages].map(
      (page) => `- [${page.title}](${baseUrl}${markdownPathOf(page)}): ${page.summary}`,
    );
    return `## ${name}\n\n${entries.join('\n')}`;
  });
  const reference = [
    '## API',
    '',
    `- [OpenAPI 3.1](${baseUrl}/openapi.json): Every route of this server, with schemas, examples and error codes.`,
    `- [API reference](${baseUrl}/docs): The same for people, with requests to try.`,
  ].join('\n');
  const [guides = '', ...others] = lists;
  return `${[
    `# Millrace\n\n> ${packageJson.description}.`,
    `Requests below \`/api\` carry \`Authorization: Bearer <API key>\`. Bodies and answers are JSON. All pages in one file: [llms-full.txt](${baseUrl}/llms-full.txt).`,
    ...[guides, reference, ...others],
  ].join('\n\n')}\n`;
}

/** `/llms-full.txt`: the text of all pages that people wrote, one after another. */
export function llmsFullText(library: Library, baseUrl: string): string {
  const { introduction, sections } = library;
  return [...(introduction ? [introduction] : []), ...sections.flatMap(({ pages }) => pages)]
    .filter(({ file }) => !generated.has(file))
    .map(
      (page) =>
        `Source: ${baseUrl}${markdownPathOf(page)}\n\n${markdownWithLinks(page, { library, baseUrl })}`,
    )
    .join('\n\n---\n\n');
}

/** The Markdown of a page, whose links lead to the Markdown of others. */
export function markdownWithLinks(
  page: Page,
  { library, baseUrl }: { library: Library; baseUrl: string },
): string {
  return page.markdown.replace(/\]\(([^()\s]+)/g, (whole, target: string) => {
    if (/^(https?:|mailto:|#)/.test(target)) return whole;
    const [path = '', anchor] = linkTarget(target, { page, library })?.split('#') ?? [];
    const source = [...library.byFile.values()].find((one) => pathOf(one) === path);
    if (path === '') return whole;
    return `](${baseUrl}${source ? markdownPathOf(source) : path}${anchor === undefined ? '' : `#${anchor}`}`;
  });
}
