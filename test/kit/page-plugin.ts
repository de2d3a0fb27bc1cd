import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { says } from '../../core/http/http.ts';
import { text } from '../../core/http/operation.ts';
import { dashboardColumns, dashboardPages, dashboardPanels } from '../../core/plugin/face.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { offer } from '../../core/plugin/token.ts';

/** A plugin for tests, named by its path in the config: a page, a panel of assets and one of streams, a page that fails, and a column of assets. */
export default definePlugin({
  id: 'pages',
  contract: 3,
  summary: 'adds to the dashboard',
  offers: [
    offer(dashboardPages, () => ({ id: 'shelf', title: 'Shelf', module: '/shelf/page.js', scope: 'asset' })),
    offer(dashboardPages, () => ({ id: 'broken', title: 'Broken', module: '/shelf/broken.js' })),
    offer(dashboardPanels, () => ({
      ...{ id: 'shelf', title: 'On the shelf', on: 'asset' as const, module: '/shelf/panel.js' },
    })),
    offer(dashboardPanels, () => ({
      ...{ id: 'shelf-of-stream', title: 'Its shelf', on: 'stream' as const, module: '/shelf/panel.js' },
    })),
    offer(dashboardColumns, () => ({ resource: 'asset' as const, field: 'playbackId', title: 'Shelf mark' })),
  ],
  routes: () =>
    new Elysia().get(
      '/shelf/:file',
      ({ params }) =>
        new Response(modules[params.file] ?? '', { headers: { 'content-type': 'text/javascript' } }),
      says('A module of the test.', {
        name: 'shelfModule',
        isOpen: true,
        path: { file: Type.String({ examples: ['page.js'] }) },
        answers: { 200: text(['text/javascript'], 'The module.') },
      }),
    ),
});

const modules: Record<string, string> = {
  'page.js': `export async function mount(element, { call, onEvent }) {
    const show = async () => {
      element.textContent = (await call('GET', '/api/asset')).length + ' films on the shelf';
    };
    await show();
    return onEvent(({ event }) => event.startsWith('asset.') && show());
  }`,
  'panel.js': `export function mount(element, { id }) { element.textContent = 'Shelf mark ' + id; }`,
  'broken.js': `export function mount() { throw new Error('the shelf fell down'); }`,
};
