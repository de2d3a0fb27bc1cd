import { escaped, type Heading, type Rendered } from './markdown.ts';
import { type Library, type Page, pathOf } from './pages.ts';

/** A page of the guides as a document. `page`: which entry of the navigation is the one shown. */
export function framed(
  { html, headings }: Rendered,
  { title, library, page }: { title: string; library: Library; page?: Page | undefined },
): string {
  const contents = page ? contentsOf(headings) : '';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} · Millrace</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/app/tokens.css">
<link rel="stylesheet" href="/docs/app/bar.css">
<link rel="stylesheet" href="/docs/app/guides.css">
<script src="/docs/app/theme.js"></script>
<script src="/docs/app/guides.js" type="module"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the text</a>
<header class="bar">
<a class="brand" href="/">Millrace</a>
<nav aria-label="Documentation"><a href="/docs/guides" aria-current="true">Guides</a> <a href="/docs">API reference</a></nav>
<button type="button" id="theme" title="Light or dark" hidden>Theme</button>
</header>
<div class="columns">
<nav class="pages" aria-label="Pages">
<details class="folded"><summary>All pages</summary>${navigation(library, page)}</details>
<div class="open">${navigation(library, page)}</div>
</nav>
<main id="content">
<article>
${html}</article>
${page ? neighbours(library, page) : ''}
</main>
${contents}
</div>
</body>
</html>
`;
}

/** The list of all pages; what the guides say of themselves comes first. */
export function listOfPages(library: Library, introduction: Rendered | undefined): Rendered {
  const sections = library.sections.filter(({ title }) => !(introduction && title === 'Guides'));
  const lists = sections.map(({ title, pages }) => {
    const entries = pages.map(
      (page) =>
        `<li><a href="${pathOf(page)}">${escaped(page.title)}</a><p>${escaped(page.summary)}</p></li>`,
    );
    return `<h2>${title}</h2>\n<ul class="list">\n${entries.join('\n')}\n</ul>\n`;
  });
  return {
    html: `${introduction?.html ?? '<h1>Guides</h1>\n'}${lists.join('')}`,
    headings: [],
  };
}

/** For a name that no page has. */
export function missing(name: string): Rendered {
  return {
    html: `<h1>There is no page “${escaped(name)}”</h1>\n<p>Its address may have changed. <a href="/docs/guides">The list of all pages</a> has what there is.</p>\n`,
    headings: [],
  };
}

function navigation({ sections }: Library, current: Page | undefined): string {
  return sections
    .map(({ title, pages }) => {
      const entries = pages.map((page) => {
        const mark = page === current ? ' aria-current="page"' : '';
        return `<li><a href="${pathOf(page)}"${mark}>${escaped(page.title)}</a></li>`;
      });
      return `<p>${title}</p><ul>${entries.join('')}</ul>`;
    })
    .join('');
}

/** Headings of the second and third level, where there are some. */
function contentsOf(headings: readonly Heading[]): string {
  const shown = headings.filter(({ level }) => level === 2 || level === 3);
  if (shown.length < 2) return '';
  const entries = shown.map(
    ({ id, text, level }) => `<li class="level-${level}"><a href="#${id}">${text}</a></li>`,
  );
  return `<nav class="contents" aria-label="On this page"><p>On this page</p><ul>${entries.join('')}</ul></nav>`;
}

function neighbours({ sections }: Library, page: Page): string {
  const pages = sections.flatMap((section) => section.pages);
  const at = pages.indexOf(page);
  const link = (other: Page | undefined, [rel, word]: readonly [string, string]) =>
    other
      ? `<a rel="${rel}" href="${pathOf(other)}"><small>${word}</small>${escaped(other.title)}</a>`
      : '<span></span>';
  return `<nav class="neighbours" aria-label="Neighbouring pages">${link(pages[at - 1], ['prev', 'Before'])}${link(pages[at + 1], ['next', 'Next'])}</nav>`;
}
