import { authenticator, definePlugin, Elysia, faultsOf, offer, playbackAliases } from '../../sdk/plugin.ts';
import { aliasKind, documentOf } from './alias.ts';
import { type AliasesKit, config } from './config.ts';
import { routes } from './routes.ts';

/** Other ids by which a stream or asset is played, such as those that it had on another platform. */
export default definePlugin({
  id: 'aliases',
  summary: 'other ids that streams and assets are played by',
  config,
  needs: [authenticator],
  faults: {
    ...faultsOf(404, { 'alias.not_found': 'There is no such alias in your account.' }),
    ...faultsOf(409, {
      'alias.taken': 'A stream, session or asset has this id, or it is an alias already.',
      'alias.too_many': 'The account has as many aliases as it may have (`plugins.aliases.max`).',
      'alias.busy': 'Other requests change this alias at the same time.',
    }),
    ...faultsOf(422, { 'alias.no_target': 'No stream or asset of your account has this playback id.' }),
  },
  offers: [
    offer(playbackAliases, (kit: AliasesKit) => ({
      async find(alias) {
        const row = await kit.resources.get(aliasKind, alias);
        return row && documentOf(row).playbackId;
      },
    })),
  ],
  routes: (kit) => new Elysia().use(routes(kit)),
});
