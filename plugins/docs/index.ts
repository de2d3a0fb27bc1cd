import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { Fault } from '../../core/base/fault.ts';
import { says } from '../../core/http/http.ts';
import { nothing, text } from '../../core/http/operation.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { guides } from './guides.ts';
import { pageFiles, referencePage } from './reference.ts';

/** `/docs`: the API reference, and the guides beside it. Nothing comes from elsewhere. */
export default definePlugin({
  id: 'docs',
  summary: 'the API reference and the guides',
  faults: {
    'docs.not_found': { status: 404, meaning: 'The documentation has no such file.' },
  },
  routes(kit) {
    const reference = referencePage();
    const file = pageFiles();
    const pages = guides(join(import.meta.dir, '../../docs'));
    const llms =
      (kind: 'list' | 'full') =>
      async ({ request }: { request: Request }) =>
        (await pages.llms(kind, kit.caller(request).baseUrl))(request);
    return new Elysia()
      .get('/docs', ({ request }) => reference(request), saysPage('docs', 'The API reference.'))
      .get(
        '/docs/app/*',
        async ({ request, params }) => {
          const found = await file(params['*']);
          if (found) return found(request);
          throw new Fault('docs.not_found', { status: 404, message: 'The documentation has no such file.' });
        },
        says('A file of the documentation.', {
          name: 'docsFile',
          isOpen: true,
          path: { file: Type.String({ examples: ['reference.js'] }) },
          answers: { 200: text(['text/javascript', 'text/css'], 'The file.'), 304: unchanged },
          faults: ['docs.not_found'],
        }),
      )
      .get(
        '/docs/guides',
        async ({ request }) => (await pages.find('')).served(request),
        saysPage('listGuides', 'The list of guides.'),
      )
      .get(
        '/docs/guides/*',
        async ({ request, params }) => {
          const found = await pages.find(params['*']);
          if (found.isFound) return found.served(request);
          const answer = await found.served(request);
          return new Response(answer.body, { status: 404, headers: answer.headers });
        },
        says('A guide, its Markdown, or a picture in it.', {
          name: 'getGuide',
          isOpen: true,
          path: { file: Type.String({ examples: ['api.md'] }) },
          answers: {
            200: text(['text/html', 'text/markdown', ...imageMedia], 'The page.'),
            304: unchanged,
            404: text(['text/html'], 'There is no such page. The page has a link to those that there are.'),
          },
        }),
      )
      .get('/llms.txt', llms('list'), saysText('getLlmsList', 'What there is to read, for language models.'))
      .get(
        '/llms-full.txt',
        llms('full'),
        saysText('getLlmsText', 'All guides in one text, for language models.'),
      );
  },
});

const imageMedia = ['image/png', 'image/jpeg', 'image/webp', 'image/svg+xml'];
const unchanged = { ...nothing, description: 'The client has this version.' };

function saysPage(name: string, summary: string) {
  return says(summary, {
    name,
    isOpen: true,
    answers: { 200: text(['text/html'], 'The page.'), 304: unchanged },
  });
}

function saysText(name: string, summary: string) {
  return says(summary, {
    name,
    isOpen: true,
    answers: { 200: text(['text/plain'], 'The text.'), 304: unchanged },
  });
}
