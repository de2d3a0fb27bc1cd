import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { Fault } from '../../core/base/fault.ts';
import { optional } from '../../core/base/schema.ts';
import { says } from '../../core/http/http.ts';
import { flagSchema, json, storeFaults } from '../../core/http/operation.ts';
import { openly, preflight, saysPreflight } from '../../core/http/public-access.ts';
import { flagOf } from '../../core/http/query.ts';
import { openLimit } from '../../core/http/request-limits.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { offer } from '../../core/plugin/token.ts';
import { ingestAddresses } from '../streams/contract.ts';
import { countries } from './contract.ts';
import { databaseLocator, locator, noLocator } from './locator.ts';
import { type PlacesKit, placeSchema, placesFor, regionProblems, regionSchema } from './regions.ts';

const config = Type.Object({
  regions: Type.Array(regionSchema, {
    maxItems: 1000,
    default: [],
    description:
      'Regions of this deployment: `{region, ingest, playback, base, cidrs?, location?: {latitude, longitude}}`. Default: the running nodes with the role `media`, see node.ingestUrl and region.',
  }),
  database: optional.string({
    minLength: 1,
    description:
      'Path of a location database in MaxMind DB format, such as GeoLite2-City.mmdb. Read again when it changes. `countries` of playback policies needs it.',
  }),
});

/** `GET /api/ingest`: where to broadcast to and to watch from, nearest first, for everyone. */
export default definePlugin({
  id: 'ingest',
  summary: 'ingest discovery',
  config,
  contradictions: ({ regions }) => regionProblems(regions),
  needs: [locator],
  faults: {
    'ingest.no_node': { status: 503, meaning: 'No node that takes broadcasts is running.' },
  },
  provides: [locator],
  offers: [
    offer(ingestAddresses, (kit: PlacesKit) => {
      const places = placesFor(kit);
      return async (caller) => (await places(caller))[0]?.ingest;
    }),
    offer(countries, (kit: PlacesKit & { readonly config: { readonly database?: string } }) => ({
      hasDatabase: kit.config.database !== undefined,
      // It is asked for its entry before it has started, too.
      countryOf: (address) => kit.use(locator)?.countryOf(address),
    })),
  ],
  async start(kit) {
    const { database } = kit.config;
    const own = database === undefined ? noLocator : await databaseLocator(database, kit);
    kit.provide(locator, own);
    return () => own.stop();
  },
  routes(kit) {
    const places = placesFor(kit);
    const admit = openLimit(kit);
    return new Elysia()
      .get(
        '/api/ingest',
        ({ request }) =>
          openly(async () => {
            await admit(request);
            const isAll = flagOf(new URL(request.url).searchParams, 'first') === false;
            const sorted = await places(kit.caller(request));
            if (sorted.length === 0) throw noNode;
            const entries = isAll
              ? sorted
              : sorted.slice(0, 1).map(({ ingest, playback }) => ({ ingest, playback }));
            return Response.json(entries, { headers: { 'cache-control': 'no-store' } });
          }),
        says(
          'URLs for encoders and players: the nearest pair, or all with `first=false`. No key is needed.',
          {
            name: 'getIngest',
            isOpen: true,
            query: {
              first: flagSchema('Only the nearest, which is the default; `false`: all, nearest first.'),
            },
            answers: { 200: json(Type.Array(placeSchema), 'Places, nearest first.') },
            faults: ['query.invalid', 'ingest.no_node', 'rate.limited', ...storeFaults],
          },
        ),
      )
      .options('/api/ingest', preflight, saysPreflight('preflightIngest'));
  },
});

const noNode = new Fault('ingest.no_node', {
  status: 503,
  message: 'No node takes broadcasts now. Start a node with the role "media", or try again.',
  retryAfter: 5,
});
