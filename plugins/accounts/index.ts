import { Elysia } from 'elysia';
import { authenticator } from '../../core/http/auth.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import { accountRoutes, adminAccount } from './account.ts';
import { changedAccounts, rememberedAccounts } from './account-fields.ts';
import { apiKeys, StoredKeys } from './api-keys.ts';
import { currentTokenRoute, keyPlaces, tokenRoutes } from './api-token.ts';
import { bootstrapHash } from './bootstrap-key.ts';
import { type AccountsKit, config } from './config.ts';
import { account, accounts } from './contract.ts';
import { preflightRoutes } from './preflight.ts';
import { agreeOnKey } from './same-key.ts';
import { signInFaults, signInRoutes } from './sign-in.ts';

/** Accounts and API keys, and what each key may do. */
export default definePlugin({
  id: 'accounts',
  summary: 'accounts and API keys',
  // Without it nobody could be let in, and nothing be changed: every route that needs a key would be off.
  isEssential: true,
  needs: [apiKeys, authenticator, changedAccounts, services.volatile],
  provides: [accounts, apiKeys, authenticator, changedAccounts],
  resources: [account],
  config,
  faults: {
    'auth.missing': { status: 401, meaning: 'The request carries no API key.' },
    'auth.invalid': { status: 401, meaning: 'The API key is unknown, was revoked, or has expired.' },
    'auth.not_allowed': {
      status: 403,
      meaning: 'The API key does not have the access that the message names.',
    },
    'auth.origin_not_allowed': {
      status: 403,
      meaning: 'The API key may not be used from pages of this origin (access.cors.allowedOrigins).',
    },
    'account.unknown': { status: 400, meaning: 'The body names an account that does not exist.' },
    'account.not_found': {
      status: 404,
      meaning: 'There is no account of this id, or it is not that of the API key.',
    },
    'account.busy': { status: 409, meaning: 'Other requests change this account. Try again.' },
    'api_token.too_many': {
      status: 403,
      meaning: 'The account has the maximum number of API keys (plugins.accounts.maxKeys).',
    },
    'api_token.busy': {
      status: 409,
      meaning: 'Other requests change or delete this API key, or the one that makes it. Try again.',
    },
    'api_token.not_found': { status: 404, meaning: 'There is no API key of this id in your account.' },
    ...signInFaults,
  },
  async start(kit: AccountsKit) {
    const hash = await bootstrapHash(kit);
    const { isAlone } = kit.deployment;
    if (!isAlone && kit.deployment.nodes.own.roles.includes('api')) await agreeOnKey(kit, hash);
    const adminId = await adminAccount(kit);
    const known = rememberedAccounts(kit, { adminId });
    kit.provide(accounts, known);
    kit.provide(changedAccounts, known);
    const keys = new StoredKeys(kit, { bootstrap: { hash, accountId: adminId } });
    kit.provide(apiKeys, keys);
    kit.provide(authenticator, keys);
    return () => keys.stop();
  },
  routes(kit) {
    const places = keyPlaces(kit);
    return new Elysia()
      .use(preflightRoutes(kit))
      .use(accountRoutes(kit))
      .use(currentTokenRoute(kit))
      .use(tokenRoutes(kit, { places }))
      .use(signInRoutes(kit, { places }));
  },
});
