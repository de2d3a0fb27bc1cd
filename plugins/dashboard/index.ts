import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { Fault } from '../../core/base/fault.ts';
import { object, oneOf, optional } from '../../core/base/schema.ts';
import { says } from '../../core/http/http.ts';
import { json, nothing, text } from '../../core/http/operation.ts';
import { dashboardColumns, dashboardPages, dashboardPanels } from '../../core/plugin/face.ts';
import { definePlugin, type Kit } from '../../core/plugin/plugin.ts';
import { account } from '../accounts/contract.ts';
import { assetResource } from '../assets/contract.ts';
import { stream } from '../streams/contract.ts';
import { modulesOf, pageFiles } from './page-files.ts';

/** `/`: the pages on which people run their deployment. They use the public API, and nothing else. */
export default definePlugin({
  id: 'dashboard',
  summary: 'the dashboard',
  faults: {
    'dashboard.not_found': { status: 404, meaning: 'The dashboard has no such file.' },
  },
  routes(kit) {
    const files = pageFiles();
    const page = readFileSync(join(import.meta.dir, 'page/index.html'), 'utf8');
    const map = importMapOf(page);
    const policy = policyOf(map);
    const names = namesOf(map);
    const shown = async ({ request }: { request: Request }) => {
      const first = new URL(request.url).pathname.split('/')[2] || 'home';
      const modules = await modulesOf(files, { roots: ['app.js', `pages/${first}.js`], names });
      const links = modules.map((path) => `<link rel="modulepreload" href="${base}${path}" />`);
      return new Response(page.replace('<!-- modules -->', links.join('')), {
        headers: { ...safe, 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy },
      });
    };
    // Its files come before the pages: a reader of the document takes the first path that fits.
    return new Elysia()
      .get('/', shown, saysPage('dashboardHome', 'The dashboard.'))
      .get(
        '/dashboard/extensions.json',
        () =>
          Response.json(
            {
              pages: kit.offered(dashboardPages),
              panels: kit.offered(dashboardPanels),
              columns: kit.offered(dashboardColumns),
              fields: fieldsOf(kit),
            },
            { headers: safe },
          ),
        says('What plugins add to the dashboard: pages, panels and columns.', {
          name: 'dashboardExtensions',
          isOpen: true,
          answers: { 200: json(extensionsSchema, 'What is enabled now.') },
        }),
      )
      .get(
        '/dashboard/app/*',
        async ({ params, request }) => {
          const file = files.get(params['*']);
          if (file === undefined)
            throw new Fault('dashboard.not_found', {
              status: 404,
              message: 'The dashboard has no such file.',
            });
          return (await file.read()).answer(request);
        },
        says('A file of the dashboard.', {
          name: 'dashboardFile',
          isOpen: true,
          path: pathOf,
          answers: {
            200: text(['text/javascript', 'text/css'], 'The file.', fileHeaders),
            304: { ...nothing, description: 'The browser has it.', headers: fileHeaders },
          },
          faults: ['dashboard.not_found'],
        }),
      )
      .get('/dashboard', shown, saysPage('dashboardRoot', 'The dashboard, as at `/`.'))
      .get('/dashboard/*', shown, saysPage('dashboardPage', 'A page of the dashboard.', pathOf));
  },
});

/** The fields that enabled plugins add: by them a page knows what there is to show. */
function fieldsOf({ resources }: Pick<Kit, 'resources'>) {
  const names = [stream, assetResource, account].map((kind) => [
    kind.kind,
    Object.keys(resources.fields(kind).schemas),
  ]);
  return Object.fromEntries(names) as Record<string, string[]>;
}

const module = Type.String({ examples: ['/acme/page.js'] });
const title = Type.String({ examples: ['Views'] });
const extensionId = Type.String({ examples: ['acme-views'] });
const fieldNames = Type.Optional(Type.Array(Type.String({ examples: ['viewCount'] })));
const extensionsSchema = object({
  pages: Type.Array(
    object({
      ...{ id: extensionId, title, module },
      scope: optional.string({ description: 'Path below `/api` that a key must be allowed to GET.' }),
    }),
  ),
  panels: Type.Array(
    object({ id: extensionId, title, module, on: oneOf(['stream', 'asset'], { examples: ['stream'] }) }),
  ),
  columns: Type.Array(
    object({
      resource: oneOf(['stream', 'asset', 'session', 'task', 'webhook'], { examples: ['stream'] }),
      field: Type.String({ examples: ['views'] }),
      title,
      format: Type.Optional(
        oneOf(['text', 'number', 'bytes', 'duration', 'moment', 'flag'], { examples: ['number'] }),
      ),
    }),
  ),
  fields: object(
    { stream: fieldNames, asset: fieldNames, account: fieldNames },
    { description: 'Names of the fields that plugins add to streams, assets and accounts.' },
  ),
});

const fileHeaders = {
  ETag: Type.String({ description: 'Names this version of the file.' }),
  Vary: Type.String({ examples: ['accept-encoding'] }),
};
/** Of all files of the dashboard. */
const base = '/dashboard/app/';
const pathOf = { file: Type.String({ examples: ['streams'] }) };

function saysPage(name: string, summary: string, path?: Record<string, ReturnType<typeof Type.String>>) {
  return says(summary, {
    name,
    isOpen: true,
    ...(path && { path }),
    answers: { 200: text(['text/html'], 'The page.') },
  });
}

const safe = {
  'cache-control': 'no-cache',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

/** An import map has to be in the page itself. */
const importMapOf = (page: string) => /<script type="importmap">(.*?)<\/script>/s.exec(page)?.[1] ?? '';

/** Names of the import map, and the paths of their files. */
function namesOf(map: string): Record<string, string> {
  const { imports } = JSON.parse(map) as { imports: Record<string, string> };
  return Object.fromEntries(Object.entries(imports).map(([name, url]) => [name, url.slice(base.length)]));
}

/** Nothing comes from elsewhere, and no other page can frame this one, which holds a key. */
function policyOf(importMap: string): string {
  const hash = createHash('sha256').update(importMap).digest('base64');
  return [
    "default-src 'none'",
    `script-src 'self' 'sha256-${hash}'`,
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data: blob:",
    "media-src 'self' blob:",
    "worker-src 'self' blob:",
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
