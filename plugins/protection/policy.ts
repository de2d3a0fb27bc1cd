import { createHash } from 'node:crypto';
import type { Static } from '@sinclair/typebox';
import { cidr } from '../../core/base/cidr.ts';
import { Fault } from '../../core/base/fault.ts';
import { object, optional } from '../../core/base/schema.ts';
import { type Policy, policyParts } from './contract.ts';
import { isOriginPattern } from './fits.ts';

/** As a client sets it. */
export const policySchema = object(
  {
    ...policyParts,
    webhookSecret: optional.string({
      minLength: 16,
      maxLength: 256,
      description:
        'With `webhook`: signs the requests as those of webhooks are signed. Never shown. It belongs to the URL: all policies of the account that name the URL use it. A change without it keeps it.',
      examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    }),
  },
  {
    description: 'Who may watch. `null`: as the account or the deployment says.',
    examples: [{ type: 'signed' }],
  },
);

export type GivenPolicy = Static<typeof policySchema>;

export interface PolicyContext {
  /** Whether the deployment knows the countries of addresses. */
  readonly hasCountries: boolean;
  /** What is wrong with an address to call, as far as text can tell. */
  wrongUrl(url: string): string | undefined;
}

/** What a schema cannot say of a policy, each beginning with a key. */
export function policyProblems(policy: GivenPolicy, { hasCountries, wrongUrl }: PolicyContext): string[] {
  const { type, allowedOrigins = [], countries = [], cidrs = [], webhookUrl } = policy;
  const problems: string[] = [];
  for (const [index, origin] of allowedOrigins.entries())
    if (!isOriginPattern(origin))
      problems.push(`allowedOrigins.${index}: expected an origin such as https://www.example.com`);
  for (const [index, block] of cidrs.entries())
    if (!cidr(block)) problems.push(`cidrs.${index}: expected a block such as 192.0.2.0/24`);
  if (countries.length > 0 && !hasCountries)
    problems.push('countries: this deployment has no plugins.ingest.database, so it knows no countries');
  if (type === 'webhook' && webhookUrl === undefined)
    problems.push('webhookUrl: a policy of the type webhook needs one');
  if (type !== 'webhook')
    for (const key of ['webhookUrl', 'webhookSecret', 'onError'] as const)
      if (policy[key] !== undefined) problems.push(`${key}: only a policy of the type webhook has one`);
  const wrong = webhookUrl === undefined ? undefined : wrongUrl(webhookUrl);
  if (wrong !== undefined) problems.push(`webhookUrl: ${wrong}`);
  return problems;
}

/** Throws Fault `body.invalid` (422), or one of another code. */
export function checkPolicy(
  policy: GivenPolicy,
  { code = 'body.invalid', ...context }: PolicyContext & { readonly name: string; readonly code?: string },
): void {
  const problems = policyProblems(policy, context).map((problem) => `${context.name}.${problem}`);
  if (problems.length > 0) throw new Fault(code, { status: 422, message: problems });
}

/** Whether it lets everybody watch. */
export function isOpen({ type, allowedOrigins = [], countries, cidrs }: Policy): boolean {
  return type === 'public' && allowedOrigins.length === 0 && !countries && !cidrs;
}

/** 6 bytes that another policy does not have, as base64url. */
export function policyDigest(policy: Policy): string {
  const { type, allowedOrigins, allowNoOrigin, countries, cidrs, webhookUrl } = policy;
  const parts = [type, allowedOrigins, allowNoOrigin, countries, cidrs, webhookUrl];
  return createHash('sha256').update(JSON.stringify(parts)).digest().subarray(0, 6).toString('base64url');
}
