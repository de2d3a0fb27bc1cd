import {
  assetResource,
  assets,
  authenticator,
  definePlugin,
  Elysia,
  faultResponse,
  field,
  object,
  offer,
  stream,
  streams,
  Type,
  webhookFormats,
  webhooks,
} from '../../sdk/plugin.ts';
import { absentRoutes } from './absent.ts';
import { assetRoutes } from './assets.ts';
import { faults } from './calls.ts';
import { config } from './config.ts';
import { keyRoutes } from './keys.ts';
import { preflightRoutes } from './preflight.ts';
import { streamRoutes } from './streams.ts';
import { studioFormat, webhookRoutes } from './webhooks.ts';

/** Who made a stream or an asset, in the words of the client. */
const creator = Type.String({
  maxLength: 256,
  examples: ['user-7'],
  description: 'Id of who made it, in your own system (`creatorId.value` of Livepeer Studio). Empty: none.',
});

/**
 * The API of Livepeer Studio, for its clients: nearly all is our own API at another path, so each call is translated and
 * carried out by our own routes, with the key of the client.
 */
export default definePlugin({
  id: 'studio-compat',
  summary: 'API of Livepeer Studio, for its clients',
  config,
  needs: [authenticator, streams, assets, webhooks],
  hosts: ({ hosts, path }) => Object.fromEntries(hosts.map((host) => [host, path])),
  extends: [stream, assetResource].map((kind) =>
    field(kind, 'creatorId', { isOptional: true, schema: creator, initial: '' }),
  ),
  offers: [offer(webhookFormats, () => studioFormat)],
  faults,
  errors: {
    below: ({ path }) => [path],
    schema: object({ errors: Type.Array(Type.String()), code: Type.String() }),
    // Ours is Studio's, with a code.
    answer: (fault) => faultResponse(fault),
  },
  routes: (kit) =>
    new Elysia()
      .use(streamRoutes(kit))
      .use(assetRoutes(kit))
      .use(webhookRoutes(kit))
      .use(keyRoutes(kit))
      .use(absentRoutes(kit))
      .use(preflightRoutes(kit)),
});
