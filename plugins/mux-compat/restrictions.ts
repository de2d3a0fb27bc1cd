import {
  type AnyElysia,
  bodyReader,
  Elysia,
  Fault,
  json,
  type Kit,
  nothing,
  object,
  optional,
  plainResources,
  says,
  Type,
  uuid,
} from '../../sdk/plugin.ts';
import { data, invalid, type MuxCall, muxRoutes, noContent, notFound } from './api.ts';
import type { MuxKit } from './config.ts';
import { keyedFaults } from './errors.ts';
import { pageOf, pageParameters } from './paging.ts';

const kind = 'mux-playback-restriction';
export const maxRestrictions = 100;

interface Restriction {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  /** Epoch ms. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly domains: readonly string[];
  readonly allowNoReferrer: boolean;
}

const domains = Type.Array(
  Type.String({
    maxLength: 253,
    pattern: '^(\\*|(\\*\\.)?[A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)*)$',
    examples: ['*.example.com'],
  }),
  { maxItems: 50 },
);
const referrer = { allowed_domains: domains, allow_no_referrer: optional.boolean() };
const userAgent = { allow_no_user_agent: optional.boolean(), allow_high_risk_user_agent: optional.boolean() };
const creation = bodyReader({ referrer: object(referrer), user_agent: Type.Optional(object(userAgent)) });
const referrerBody = bodyReader(referrer);
const restrictionSchema = object({
  ...{ id: Type.String(), created_at: Type.String(), updated_at: Type.String() },
  referrer: object({ allowed_domains: domains, allow_no_referrer: Type.Boolean() }),
  user_agent: object({ allow_no_user_agent: Type.Boolean(), allow_high_risk_user_agent: Type.Boolean() }),
});
const one = json(object({ data: restrictionSchema }), 'The restriction.');
const said = (name: string, answer: ReturnType<typeof json>, status = 200) => ({
  ...{ name, credentials: ['basic'] as const, answers: { [status]: answer }, faults: keyedFaults },
});

/** `/video/v1/playback-restrictions`: domains that tokens may name as `playback_restriction_id`. */
export function restrictionRoutes(kit: MuxKit): AnyElysia {
  const base = `${kit.config.path}/video/v1/playback-restrictions`;
  const keyed = muxRoutes(kit, { demand: 'signing-key' });
  return new Elysia()
    .post(
      base,
      keyed((call) => create(call, kit), { isAudited: true }),
      says('Creates a playback restriction.', { ...said('createMuxRestriction', one, 201), body: creation }),
    )
    .get(
      base,
      keyed(async ({ request, principal }) => {
        const { offset, limit } = pageOf(request);
        const rows = await kit.resources.list(kind, { account: principal.accountId, limit: offset + limit });
        return data(rows.slice(offset).map(({ body }) => shown(JSON.parse(body))));
      }),
      says('Lists playback restrictions, newest first.', {
        ...said('listMuxRestrictions', json(object({ data: Type.Array(restrictionSchema) }))),
        query: pageParameters,
      }),
    )
    .get(
      `${base}/:id`,
      keyed(async ({ params, principal }) =>
        data(shown(await ofAccount(principal.accountId, kit).get(params.id ?? ''))),
      ),
      says('A playback restriction.', said('getMuxRestriction', one)),
    )
    .put(
      `${base}/:id/referrer`,
      keyed((call) => change(call, kit), { isAudited: true }),
      says('Changes the domains of a restriction.', {
        ...said('updateMuxReferrer', one),
        body: referrerBody,
      }),
    )
    .delete(
      `${base}/:id`,
      keyed(async ({ params, principal }) => {
        await ofAccount(principal.accountId, kit).remove(params.id ?? '');
        return noContent();
      }),
      says(
        'Deletes a playback restriction. Tokens that name it open nothing.',
        said('deleteMuxRestriction', nothing, 204),
      ),
    );
}

function ofAccount(account: string, { resources }: Pick<Kit, 'resources'>) {
  return plainResources<Restriction>(
    {
      kind,
      notFound: () => notFound('playback restriction'),
      busy: () =>
        new Fault('mux.conflict', {
          status: 409,
          message: 'Other requests change this restriction. Try again.',
        }),
    },
    { account, resources },
  );
}

async function create({ request, principal }: MuxCall, kit: MuxKit): Promise<Response> {
  const given = await creation.read(request);
  const { allow_no_user_agent: noAgent, allow_high_risk_user_agent: risky } = given.user_agent ?? {};
  if (noAgent === false || risky === false)
    throw invalid('user_agent: this server does not look at user agents; leave it out or allow all');
  const account = principal.accountId;
  if ((await kit.resources.count(kind, { account })) >= maxRestrictions)
    throw new Fault('mux.conflict', {
      status: 409,
      message: `There are at most ${maxRestrictions} restrictions.`,
    });
  const now = kit.clock.now();
  const made = { id: uuid(), account, name: '', createdAt: now, updatedAt: now, ...termsOf(given.referrer) };
  await ofAccount(account, kit).create([made]);
  return data(shown(made), { status: 201 });
}

async function change({ request, params, principal }: MuxCall, kit: MuxKit): Promise<Response> {
  const terms = termsOf(await referrerBody.read(request));
  const updatedAt = kit.clock.now();
  const changed = await ofAccount(principal.accountId, kit).change(params.id ?? '', (before) => ({
    ...before,
    updatedAt,
    ...terms,
  }));
  return data(shown(changed));
}

function termsOf({
  allowed_domains,
  allow_no_referrer = true,
}: {
  allowed_domains: string[];
  allow_no_referrer?: boolean;
}) {
  if (allowed_domains.includes('*') && !allow_no_referrer)
    throw invalid('allow_no_referrer: false goes with named domains only, not with *');
  return { domains: allowed_domains, allowNoReferrer: allow_no_referrer };
}

function shown({ id, createdAt, updatedAt, domains: allowed_domains, allowNoReferrer }: Restriction) {
  const seconds = (at: number) => String(Math.floor(at / 1000));
  return {
    ...{ id, created_at: seconds(createdAt), updated_at: seconds(updatedAt) },
    referrer: { allowed_domains, allow_no_referrer: allowNoReferrer },
    user_agent: { allow_no_user_agent: true, allow_high_risk_user_agent: true },
  };
}

/** The claims that stand for a restriction; a text where there is none such. */
export async function restrictionClaims(
  id: unknown,
  { account, kit }: { account: string; kit: Pick<Kit, 'resources'> },
): Promise<Record<string, unknown> | string> {
  const found = typeof id === 'string' ? await ofAccount(account, kit).find(id) : undefined;
  if (!found) return 'playback_restriction_id: expected the id of a playback restriction of the account.';
  const { domains: names, allowNoReferrer } = found;
  if (names.includes('*')) return {};
  // None is allowed: a list of no names would restrict nothing.
  const origins = names.flatMap((name) => [`https://${name.toLowerCase()}`, `http://${name.toLowerCase()}`]);
  return { origins: origins.length > 0 ? origins : ['https://none.invalid'], allowNoOrigin: allowNoReferrer };
}
