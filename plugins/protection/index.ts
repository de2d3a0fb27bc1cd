import { Elysia } from 'elysia';
import { authenticator } from '../../core/http/auth.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import { offer } from '../../core/plugin/token.ts';
import { accounts } from '../accounts/contract.ts';
import { assetTerms } from '../assets/contract.ts';
import { frameRules } from '../watch/contract.ts';
import { config, type ProtectionKit } from './config.ts';
import { deploymentPolicy } from './contract.ts';
import { contextOf, policyFields } from './fields.ts';
import { frameRule } from './frames.ts';
import { inheritedPolicy } from './inherited.ts';
import { decidePlay } from './play.ts';
import { checkPolicy } from './policy.ts';
import { decidePublish } from './publish.ts';
import { protectionRoutes } from './routes.ts';
import { signingKeyFaults, signingKeyRoutes } from './signing-key-routes.ts';

/** Who may watch: policies, signed tokens, webhooks; who is cut off. */
export default definePlugin({
  id: 'protection',
  summary: 'private playback: policies, signing keys, tokens',
  config,
  // Without it everybody could watch what is private.
  isEssential: true,
  needs: [accounts, authenticator, services.secrets],
  extends: policyFields,
  offers: [
    offer(assetTerms, (kit: ProtectionKit) => ({ plugin: 'protection', terms: inheritedPolicy(kit) })),
    offer(frameRules, frameRule),
  ],
  emits: {
    'playback.refused': {
      meaning:
        'A viewer was refused by a playback policy. Told at most once a minute for each playback id and reason.',
      payload: {
        kind: 'live',
        playbackId: '0'.repeat(16),
        rule: 'token.expired',
        reason: 'The token has expired.',
      },
    },
  },
  faults: {
    'protection.not_found': {
      status: 404,
      meaning: 'There is nothing of your account to watch under this id.',
    },
    ...signingKeyFaults,
    'playback.too_many_revoked': {
      status: 409,
      meaning: 'Too many viewers of one video are revoked. Revoke everybody, or delete the signing key.',
    },
    'playback.too_many_secrets': {
      status: 409,
      meaning: 'The account has secrets for too many addresses of webhook policies.',
    },
  },
  start(kit) {
    const [common] = kit.offered(deploymentPolicy);
    if (common)
      checkPolicy(common, {
        name: 'plugins.playback.policy',
        code: 'config.invalid',
        ...contextOf(kit, kit.use(accounts).adminId),
      });
    return undefined;
  },
  decides: { play: decidePlay, publish: decidePublish },
  routes: (kit) => new Elysia().use(protectionRoutes(kit)).use(signingKeyRoutes(kit)),
});
