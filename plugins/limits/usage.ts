import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../core/base/fault.ts';
import { maxIdLength } from '../../core/base/name.ts';
import { object } from '../../core/base/schema.ts';
import { idOrNone } from '../../core/base/secrets.ts';
import { type LimitName, limitNames, usages } from '../../core/http/account-limits.ts';
import { notAllowed, type Principal } from '../../core/http/auth.ts';
import { says } from '../../core/http/http.ts';
import { keyedRoutes } from '../../core/http/keyed.ts';
import { idSchema, json } from '../../core/http/operation.ts';
import { countedLimits } from './accounts.ts';
import type { LimitsKit } from './config.ts';

const shareSchema = object({
  used: Type.Number({ minimum: 0, examples: [12] }),
  limit: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
    description: 'null: no limit.',
    examples: [10_000],
  }),
});

const usageSchema = object(
  Object.fromEntries(limitNames.map((name) => [name, shareSchema])) as Record<LimitName, typeof shareSchema>,
  { $id: 'AccountUsage' },
);

/** `GET /api/account/usage`: what an account uses, and how much it may. */
export function usageRoutes(kit: LimitsKit): AnyElysia {
  const { keyed } = keyedRoutes(kit);
  return new Elysia().get(
    '/api/account/usage',
    keyed(async ({ request, principal }) => {
      const account = await accountOf(request, { principal, kit });
      const limits = kit.use(countedLimits);
      const counts = new Map(kit.offered(usages).map((one) => [one.name, one]));
      const shares = await Promise.all(
        limitNames.map(async (name) => {
          const used = (await counts.get(name)?.used(account)) ?? 0;
          return [name, { used: Math.max(0, Math.round(used)), limit: await limits.of(account, name) }];
        }),
      );
      return Response.json(Object.fromEntries(shares));
    }),
    says('What the account of the API key has and uses, and how much it may.', {
      name: 'getAccountUsage',
      query: {
        accountId: Type.String({
          maxLength: maxIdLength,
          description: 'Another account; only for keys of the admin account.',
          examples: idSchema.examples,
        }),
      },
      answers: { 200: json(usageSchema, 'Use and limits, by name.') },
      faults: ['account.not_found'],
    }),
  );
}

async function accountOf(
  request: Request,
  { principal, kit }: { principal: Principal; kit: LimitsKit },
): Promise<string> {
  const asked = new URL(request.url).searchParams.get('accountId');
  if (asked === null || asked === principal.accountId) return principal.accountId;
  if (!principal.isAdmin) throw notAllowed('accountId is only for keys of the admin account');
  if (await kit.resources.get('account', asked)) return asked;
  throw new Fault('account.not_found', { status: 404, message: `There is no account ${idOrNone(asked)}.` });
}
