/** A page as HTML, with the headings that its list of contents has. */
export interface Rendered {
  readonly html: string;
  readonly headings: readonly Heading[];
}

export interface Heading {
  readonly id: string;
  /** HTML without tags. */
  readonly text: string;
  readonly level: number;
}

/** Raw HTML is text here: the pages need none. */
const options = { noHtmlBlocks: true, noHtmlSpans: true };

/**
 * Markdown of our own pages as HTML. `linkTo` says where a link or image leads; undefined: nowhere, and its text stands there alone.
 */
export function renderMarkdown(
  markdown: string,
  { linkTo }: { linkTo(target: string): string | undefined },
): Rendered {
  const headings: Heading[] = [];
  const ids = new Map<string, number>();
  const idOf = (text: string) => {
    const slug = slugOf(text);
    const count = ids.get(slug) ?? 0;
    ids.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  };
  const html = Bun.markdown.render(
    markdown,
    {
      ...plain,
      heading(children, { level }) {
        const text = withoutTags(children);
        const id = idOf(text);
        headings.push({ id, text, level });
        const anchor =
          level === 1 ? '' : ` <a class="anchor" href="#${id}" aria-label="Link to ${text}">#</a>`;
        return `<h${level} id="${id}">${children}${anchor}</h${level}>\n`;
      },
      link(children, { href, title }) {
        const target = linkTo(href);
        if (target === undefined) return `<span class="file">${children}</span>`;
        const named = title ? ` title="${escaped(title)}"` : '';
        return `<a href="${escaped(target)}"${named}>${children}</a>`;
      },
      image(children, { src }) {
        const alt = withoutTags(children);
        const target = linkTo(src);
        // From this server alone: the page may load nothing else.
        if (!target?.startsWith('/')) return alt;
        return `<img src="${escaped(target)}" alt="${alt}" loading="lazy">`;
      },
    },
    options,
  );
  return { html, headings };
}

/** The first heading of the first level. */
export function titleOf(markdown: string): string {
  return inWords(/^# +(.+)$/m.exec(markdown)?.[1] ?? 'Untitled');
}

/** The first sentence of the first paragraph, as plain text. */
export function firstSentence(markdown: string): string {
  const blocks = markdown.replace(/^```.*?^```/gms, '').split(/\n\s*\n/);
  const paragraph = blocks.map((block) => block.trim()).find((block) => /^[^#!|<>\-*\d]/.test(block)) ?? '';
  const text = inWords(paragraph).replace(/\s+/g, ' ');
  return /^.*?[.!?](?=\s|$)/.exec(text)?.[0] ?? text;
}

function inWords(markdown: string): string {
  return Bun.markdown.render(markdown, {}, options).trim();
}

type Callbacks = NonNullable<Parameters<typeof Bun.markdown.render>[1]>;

const tag = (name: string) => (children: string) => `<${name}>${children}</${name}>`;
const block = (name: string) => (children: string) => `<${name}>${children}</${name}>\n`;
const cell = (name: 'th' | 'td') => (children: string, meta?: { align?: string }) =>
  `<${name}${name === 'th' ? ' scope="col"' : ''}${meta?.align ? ` class="${meta.align}"` : ''}>${children}</${name}>`;

/** What is the same on all pages. Wide parts scroll by themselves, and by keyboard. */
const plain: Callbacks = {
  text: escaped,
  paragraph: block('p'),
  blockquote: block('blockquote'),
  strong: tag('strong'),
  emphasis: tag('em'),
  strikethrough: tag('del'),
  codespan: tag('code'),
  hr: () => '<hr>\n',
  code(children, meta) {
    const language = meta?.language ? ` data-language="${escaped(meta.language)}"` : '';
    return `<div class="code"${language}><pre tabindex="0"><code>${children}</code></pre></div>\n`;
  },
  list(children, { ordered, start }) {
    const name = ordered ? 'ol' : 'ul';
    return `<${name}${ordered && start !== 1 ? ` start="${start}"` : ''}>\n${children}</${name}>\n`;
  },
  listItem(children, { checked }) {
    const mark = checked === undefined ? '' : checked ? '☑ ' : '☐ ';
    return `<li>${mark}${children}</li>\n`;
  },
  table: (children) => `<div class="table" tabindex="0"><table>\n${children}</table></div>\n`,
  thead: block('thead'),
  tbody: block('tbody'),
  tr: block('tr'),
  th: cell('th'),
  td: cell('td'),
};

export function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

function withoutTags(html: string): string {
  return html.replace(/<[^>]*>/g, '');
}

/** As GitHub makes it, so that links with `#` lead to the same place there. */
function slugOf(text: string): string {
  return text
    .replace(/&(amp|lt|gt|quot);/g, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');
}
