import { Type } from '@sinclair/typebox';
import { type FieldChange, field, type ResourceKind } from '../../core/plugin/resource.ts';
import { account } from '../accounts/contract.ts';
import { assetResource } from '../assets/contract.ts';
import { stream } from '../streams/contract.ts';
import type { ProtectionKit } from './config.ts';
import { type Policy, shownPolicy } from './contract.ts';
import { hasCountries } from './countries.ts';
import { checkPolicy, type GivenPolicy, policySchema } from './policy.ts';
import { storeWebhookSecret } from './webhook-secret.ts';

export const policyField = 'playbackPolicy';

type Given = GivenPolicy | null | undefined;

/** Who may watch a stream, an asset, and what an account has. */
export const policyFields = [stream, assetResource, account].map((kind) => fieldOf(kind));

function fieldOf(kind: ResourceKind) {
  return field<Given, ProtectionKit>(kind, policyField, {
    isOptional: true,
    isAudited: true,
    schema: Type.Union([policySchema, Type.Null()]),
    shown: Type.Optional(shownPolicy),
    faults: ['playback.too_many_secrets'],
    initial: undefined,
    validate(value, change) {
      const { kit, principal } = change;
      if (value) checkPolicy(value, { name: policyField, ...contextOf(kit, principal.accountId) });
    },
    async prepare(value, { principal, kit }: FieldChange<ProtectionKit>): Promise<Policy | null> {
      if (!value) return null;
      const { webhookSecret: secret, ...policy } = value;
      const { webhookUrl: url } = policy;
      if (url !== undefined && secret !== undefined)
        await storeWebhookSecret({ account: principal.accountId, url, secret }, kit);
      return policy;
    },
  });
}

/** What a policy of an account is checked against. */
export function contextOf(kit: ProtectionKit, owner: string) {
  return {
    hasCountries: hasCountries(kit),
    wrongUrl: (url: string) => kit.outbound.problem(url, { method: 'POST', owner })?.message,
  };
}
