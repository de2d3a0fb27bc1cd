import { type Static, Type } from '@sinclair/typebox';
import { object, oneOf, optional } from '../../core/base/schema.ts';
import { collection } from '../../core/plugin/token.ts';

/** Entries of one list of a policy. */
const maxEntries = 100;

const restrictions = {
  allowedOrigins: Type.Optional(
    Type.Array(Type.String({ maxLength: 255, examples: ['https://www.example.com'] }), {
      maxItems: maxEntries,
      description:
        'Origins of the pages that may play. `https://*.example.com` stands for all hosts below it. Pages of this deployment always may.',
    }),
  ),
  allowNoOrigin: optional.boolean({
    description:
      'With `allowedOrigins`: also players that name no origin, such as apps and native players. Default false.',
  }),
  countries: Type.Optional(
    Type.Array(Type.String({ pattern: '^[A-Z]{2}$', examples: ['DE'] }), {
      maxItems: maxEntries,
      description: 'Countries of the viewers (ISO 3166-1). Needs `plugins.ingest.database`.',
    }),
  ),
  cidrs: Type.Optional(
    Type.Array(Type.String({ maxLength: 64, examples: ['192.0.2.0/24'] }), {
      maxItems: maxEntries,
      description: 'Blocks of addresses of the viewers.',
    }),
  ),
};

/** Fields of a policy that are shown. */
export const policyParts = {
  type: oneOf(['public', 'signed', 'webhook'], {
    description:
      '`public`: everybody who knows the URL. `signed`: whoever has a token of one of your signing keys. `webhook`: your server is asked.',
  }),
  ...restrictions,
  webhookUrl: optional.string({
    maxLength: 2048,
    description: 'With `webhook`: the address that is asked.',
    examples: ['https://example.com/may-play'],
  }),
  onError: Type.Optional(
    oneOf(['refuse', 'allow'], {
      description: 'With `webhook`: what holds while your server does not answer. Default `refuse`.',
    }),
  ),
};

/** As it is shown. */
export const shownPolicy = object(policyParts, {
  description: 'Who may watch. Absent: as the account or the deployment says.',
  examples: [{ type: 'signed' }],
});

/** Who may watch something. */
export type Policy = Static<typeof shownPolicy>;

/** The policy of the deployment. Offered by the plugin whose config has it. */
export const deploymentPolicy = collection<Policy>('protection.deployment-policy');

/** How tokens of another platform are read, for a plugin that speaks its API. They are signed with the signing keys of the account. */
export interface TokenDialect {
  /**
   * The claims in our words, once their signature is found good; undefined for what is none of its own; a text where they cannot be
   * translated, which the owner is told. Asked whenever a token is used, not for each part of a video.
   */
  translate(
    claims: Readonly<Record<string, unknown>>,
    options: { readonly account: string },
  ): Promise<TranslatedClaims | string | undefined>;
}

export interface TranslatedClaims {
  readonly claims: Record<string, unknown>;
}

/** With one of these, a token may name its key (`kid`) in its claims. */
export const tokenDialects = collection<TokenDialect>('protection.token-dialects');
