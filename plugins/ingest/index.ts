import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { says } from '../../core/http.ts';
import { flagSchema, json } from '../../core/operation.ts';
import { definePlugin } from '../../core/plugin.ts';
import { openly, preflight, saysPreflight } from '../../core/public-access.ts';
import { flagOf } from '../../core/query.ts';
import { offer } from '../../core/token.ts';
import { ingestAddresses } from '../streams/contract.ts';
import { ingestLimits } from './limits.ts';
import { databaseLocator, locator, noLocator } from './locator.ts';
import { type PlacesKit, placesFor } from './places.ts';
import { placeSchema, regionSchema } from './regions.ts';

/** `GET /api/ingest`: where to broadcast to and to watch from, nearest first, for everyone. */
export default definePlugin({
  id: 'ingest',
  summary: 'ingest discovery',
  config: Type.Object({
    regions: Type.Array(regionSchema, {
      maxItems: ingestLimits.regions.value,
      default: [],
      description:
        'Places of this deployment: `{region, ingest, playback, base, cidrs?, location?: {latitude, longitude}}`. Default: one, from publicUrl and rtmp.port.',
    }),
    database: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'Path of a database in MaxMind DB format that knows where addresses are, such as GeoLite2-City.mmdb. Read again when it changes.',
      }),
    ),
  }),
  needs: [locator],
  provides: [locator],
  offers: [
    offer(ingestAddresses, (kit: PlacesKit) => {
      const places = placesFor(kit);
      return (caller) => places(caller)[0].ingest;
    }),
  ],
  async start(kit) {
    const { database } = kit.config;
    const own = database === undefined ? noLocator : await databaseLocator(database, kit);
    kit.provide(locator, own);
    return () => own.stop();
  },
  routes(kit) {
    const places = placesFor(kit);
    return new Elysia()
      .get(
        '/api/ingest',
        ({ request }) =>
          openly(() => {
            const isAll = flagOf(new URL(request.url).searchParams, 'first') === false;
            const sorted = places(kit.caller(request));
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
