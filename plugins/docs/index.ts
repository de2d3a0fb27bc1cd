import { join } from 'node:path';
import { Elysia } from 'elysia';
import { says } from '../../core/http/http.ts';
import { text } from '../../core/http/operation.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';

/** `/docs`: the API reference for people, made by the browser from `/openapi.json`. Nothing comes from elsewhere. */
export default definePlugin({
  id: 'docs',
  summary: 'the API reference for people',
  routes() {
    const serve = (path: string, headers: Record<string, string> = {}) =>
      new Response(Bun.file(join(import.meta.dir, 'page', path)), { headers: { ...safe, ...headers } });
    return new Elysia()
      .get(
        '/docs',
        () => serve('docs.html', { 'content-security-policy': policy }),
        saysPart('docs', { type: 'text/html', what: 'The API reference for people.' }),
      )
      .get('/docs/docs.css', () => serve('docs.css'), saysPart('docsStyle', { type: 'text/css' }))
      .get('/docs/docs.js', () => serve('docs.js'), saysPart('docsScript', { type: 'text/javascript' }))
      .get('/docs/schema.js', () => serve('schema.js'), saysPart('docsSchemas', { type: 'text/javascript' }))
      .get('/docs/try.js', () => serve('try.js'), saysPart('docsTry', { type: 'text/javascript' }));
  },
});

function saysPart(name: string, options: { type: string; what?: string }) {
  const { type, what = 'A part of the API reference.' } = options;
  return says(what, { name, isOpen: true, answers: { 200: text([type], 'The file.') } });
}

const safe = {
  'cache-control': 'no-cache',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};
/** A pasted key can go to this server alone, and no other page can frame the one that holds it. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
