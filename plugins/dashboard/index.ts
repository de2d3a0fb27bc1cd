import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { Fault } from '../../core/base/fault.ts';
import { object, oneOf, optional } from '../../core/base/schema.ts';
import { says } from '../../core/http/http.ts';
import { json, text } from '../../core/http/operation.ts';
import { dashboardColumns, dashboardPages, dashboardPanels } from '../../core/plugin/face.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';

/** `/`: the pages on which people run their deployment. They use the public API, and nothing else. */
export default definePlugin({
  id: 'dashboard',
  summary: 'the dashboard',
  faults: {
    'dashboard.not_found': { status: 404, meaning: 'The dashboard has no such file.' },
  },
  routes(kit) {
    const files = pageFiles();
    const page = readFileSync(join(pageFolder, 'index.html'), 'utf8');
    const policy = policyOf(page);
    const shown = () =>
      new Response(page, {
        headers: { ...safe, 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy },
      });
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
        ({ params }) => {
          const file = files.get(params['*']);
          if (file === undefined)
            throw new Fault('dashboard.not_found', {
              status: 404,
              message: 'The dashboard has no such file.',
            });
          return new Response(file.body, { headers: { ...safe, 'content-type': file.type } });
        },
        says('A file of the dashboard.', {
          name: 'dashboardFile',
          isOpen: true,
          path: pathOf,
          answers: { 200: text(['text/javascript', 'text/css'], 'The file.') },
          faults: ['dashboard.not_found'],
        }),
      )
      .get('/dashboard/*', shown, saysPage('dashboardPage', 'A page of the dashboard.', pathOf));
  },
});

const module = Type.String({ examples: ['/acme/page.js'] });
const title = Type.String({ examples: ['Views'] });
const extensionId = Type.String({ examples: ['acme-views'] });
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
});

const pathOf = { file: Type.String({ examples: ['streams'] }) };

function saysPage(name: string, summary: string, path?: Record<string, ReturnType<typeof Type.String>>) {
  return says(summary, {
    name,
    isOpen: true,
    ...(path && { path }),
    answers: { 200: text(['text/html'], 'The page.') },
  });
}

const pageFolder = join(import.meta.dir, 'page');
/** What all pages of the program have in common. */
const faceFolder = join(import.meta.dir, '../../core/face');
const shared: Readonly<Record<string, string>> = { 'style/tokens.css': 'tokens.css', 'theme.js': 'theme.js' };
const clientFolder = join(import.meta.dir, '../../sdk/client');
/** What the pages import, by the names of the import map in `index.html`. */
const libraries: Readonly<Record<string, string>> = {
  'preact.js': 'preact',
  'preact-hooks.js': 'preact/hooks',
  'signals-core.js': '@preact/signals-core',
  'signals.js': '@preact/signals',
  'htm.js': 'htm',
  'hls.js': 'hls.js/dist/hls.mjs',
  'tus.js': 'tus-js-client/dist/tus.min.js',
  'uplot.js': 'uplot/dist/uPlot.esm.js',
  'uplot.css': 'uplot/dist/uPlot.min.css',
};

interface PageFile {
  readonly body: Blob | string;
  readonly type: string;
}

/** Files of the dashboard by their path below `/dashboard/app/`: those beside it, shared ones, libraries, and the client of the API. */
function pageFiles(): ReadonlyMap<string, PageFile> {
  const files = new Map<string, PageFile>();
  for (const path of readdirSync(pageFolder, { recursive: true, encoding: 'utf8' })) {
    const type = types[extname(path)];
    if (type) files.set(path, { body: Bun.file(join(pageFolder, path)), type });
  }
  for (const [name, source] of Object.entries(shared)) {
    files.set(name, { body: Bun.file(join(faceFolder, source)), type: types[extname(name)] ?? script });
  }
  for (const [name, module] of Object.entries(libraries)) {
    const path = Bun.resolveSync(module, import.meta.dir);
    files.set(`vendor/${name}`, { body: Bun.file(path), type: types[extname(name)] ?? script });
  }
  const transpiler = new Bun.Transpiler({ loader: 'ts' });
  for (const name of readdirSync(clientFolder)) {
    const source = readFileSync(join(clientFolder, name), 'utf8');
    files.set(`client/${name}`, { body: transpiler.transformSync(source), type: script });
  }
  return files;
}

const script = 'text/javascript; charset=utf-8';
const types: Readonly<Record<string, string>> = { '.js': script, '.css': 'text/css; charset=utf-8' };

const safe = {
  'cache-control': 'no-cache',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

/** Nothing comes from elsewhere, and no other page can frame this one, which holds a key. */
function policyOf(page: string): string {
  // An import map has to be in the page itself.
  const map = /<script type="importmap">(.*?)<\/script>/s.exec(page)?.[1] ?? '';
  const hash = createHash('sha256').update(map).digest('base64');
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
