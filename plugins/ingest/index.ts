import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { says } from '../../core/http.ts';
import { flagSchema, json } from '../../core/operation.ts';
import { definePlugin } from '../../core/plugin.ts';
import { openly, preflight, saysPreflight } from '../../core/public-access.ts';
import { flagOf } from '../../core/query.ts';
import { nearestFirst, placeSchema, regionSchema, regionsOf } from './regions.ts';

/** `GET /api/ingest`: where to broadcast to and to watch from, nearest first, for everyone. */
export default definePlugin({
  id: 'ingest',
  summary: 'ingest discovery',
  config: Type.Object({
    regions: Type.Array(regionSchema, {
      maxItems: 1000,
      default: [],
      description:
        'Places of this deployment: `{region, ingest, playback, base, cidrs?}`. Default: one, from publicUrl and rtmp.port.',
    }),
  }),
  routes(kit) {
    const regions = regionsOf(kit.config.regions, kit.deployment);
    return new Elysia()
      .get(
        '/api/ingest',
        ({ request }) =>
          openly(() => {
            const isAll = flagOf(new URL(request.url).searchParams, 'first') === false;
            const sorted = nearestFirst(regions, kit.peer(request));
            const entries = isAll
              ? sorted.map(({ ingest, playback, base }) => ({ ingest, playback, base }))
              : sorted.slice(0, 1).map(({ ingest, playback }) => ({ ingest, playback }));
            return Response.json(entries, { headers: { 'cache-control': 'no-store' } });
          }),
        says(
          'Where to broadcast to and watch from: the nearest, or all with `first=false`. No key is needed.',
          {
            name: 'getIngest',
            isOpen: true,
            query: {
              first: flagSchema('The nearest alone, which is the default; `false`: all, nearest first.'),
            },
            answers: { 200: json(Type.Array(placeSchema), 'Places, nearest first.') },
            faults: ['query.invalid'],
          },
        ),
      )
      .options('/api/ingest', preflight, saysPreflight('preflightIngest'));
  },
});
