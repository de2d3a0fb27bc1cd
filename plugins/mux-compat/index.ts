import {
  assetTerms,
  authenticator,
  definePlugin,
  Elysia,
  offer,
  playbackAliases,
  streams,
  tokenDialects,
  webhookFormats,
  webhooks,
} from '../../sdk/plugin.ts';
import { assetRoutes } from './assets.ts';
import { config, type MuxKit } from './config.ts';
import { deliveryRoutes } from './delivery.ts';
import { faults, muxErrors } from './errors.ts';
import { emits, reactions } from './events.ts';
import { muxFields } from './fields.ts';
import { imageFaults, imageNeeds, imageRoutes } from './images.ts';
import { liveStreamRoutes } from './live-streams.ts';
import { playbackIdRoutes } from './playback-id-routes.ts';
import { muxAliases } from './playback-ids.ts';
import { recordingPolicy, recordingTerms } from './recording-terms.ts';
import { restrictionRoutes } from './restrictions.ts';
import { signingKeyRoutes } from './signing-keys.ts';
import { simulcastRoutes } from './simulcast.ts';
import { systemRoutes } from './system.ts';
import { muxTokens } from './tokens.ts';
import { uploadRoutes } from './uploads.ts';
import { muxFormat } from './webhook-format.ts';

/** Answers as Mux Video does, so that its clients work with this server. */
export default definePlugin({
  id: 'mux-compat',
  summary: 'the API of Mux Video',
  config,
  needs: [authenticator, streams, webhooks, ...imageNeeds],
  extends: muxFields,
  hosts: ({ path, streamHost, imageHost }) => ({
    ...(streamHost !== undefined && { [streamHost]: path }),
    ...(imageHost !== undefined && { [imageHost]: path }),
  }),
  rtmpApps: () => ['app'],
  errors: muxErrors,
  faults: { ...faults, ...imageFaults },
  emits,
  reactions,
  offers: [
    offer(webhookFormats, () => muxFormat),
    offer(playbackAliases, muxAliases),
    offer(tokenDialects, muxTokens),
    offer(assetTerms, (kit: MuxKit) => ({ plugin: 'mux-compat', terms: recordingTerms(kit) })),
    offer(assetTerms, (kit: MuxKit) => ({ plugin: 'protection', terms: recordingPolicy(kit) })),
  ],
  routes: (kit) =>
    new Elysia()
      .use(liveStreamRoutes(kit))
      .use(simulcastRoutes(kit))
      .use(assetRoutes(kit))
      .use(uploadRoutes(kit))
      .use(playbackIdRoutes(kit))
      .use(signingKeyRoutes(kit))
      .use(restrictionRoutes(kit))
      .use(systemRoutes(kit))
      .use(deliveryRoutes(kit))
      .use(imageRoutes(kit, { base: kit.config.path })),
});
