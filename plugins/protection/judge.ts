import { variantOf } from '../../core/hls/with-pass.ts';
import type { PlayPass, PlayQuestion } from '../../core/plugin/decide.ts';
import { type Audience, audienceOf, audiences } from './audience.ts';
import type { Policy } from './contract.ts';
import { type Facts, misfit } from './fits.ts';
import { maxExtra, type Pass, type PassExtra, type Passes, viewerHash } from './pass.ts';
import { isRevoked, remembered } from './revocations.ts';
import type { Claims, VerifyToken } from './token.ts';
import type { Watched } from './watched.ts';
import type { Answer, Question } from './webhook.ts';

/** A request for something that is protected. */
export interface Asked extends Facts, Pick<PlayQuestion, 'what' | 'file' | 'userAgent'> {
  readonly token: string | undefined;
  /** What is watched, for a pass. */
  readonly binding: string;
  /** Playback id. */
  readonly id: string;
}

/** `rule`: for programs, such as `token.expired`; `reason`: a sentence for the owner. */
export interface Misfit {
  readonly rule: string;
  readonly reason: string;
}

export type Judgement = { readonly pass?: PlayPass } | Misfit;

export function isMisfit(judgement: Judgement): judgement is Misfit {
  return 'rule' in judgement;
}

/** What a judge asks. */
export interface Court {
  now(): number;
  readonly passes: Passes;
  /** How long a pass is good for, ms. */
  readonly session: number;
  /** Whether a signing key of an account is still there. */
  hasKey(account: string, keyId: string): boolean | Promise<boolean>;
  /** Whether an API key is still there. */
  hasApiKey(keyId: string): boolean | Promise<boolean>;
  verify: VerifyToken;
  /** Asks the webhook of a policy. */
  ask(policy: Policy, question: Question): Answer | Promise<Answer>;
}

/** Whether a request may have something, and what the URIs of its playlist carry. No promise for a pass that is known. */
export function judge(watched: Watched, asked: Asked, court: Court): Judgement | Promise<Judgement> {
  const { policy } = watched;
  if (!policy) return {};
  const unfit = misfit(policy, asked);
  if (unfit) return unfit;
  if (policy.type === 'public') return {};
  const { token, binding } = asked;
  const pass = token === undefined || token.includes('.') ? undefined : court.passes.read(token, binding);
  if (pass) return judgePass(pass, { watched, policy, asked, court });
  if (policy.type === 'webhook') return askWebhook({ watched, policy, asked, court });
  if (token === undefined) return refusal('token.missing', 'The request has no token.');
  return judgeToken(token, { watched, policy, asked, court });
}

interface Case {
  readonly watched: Watched;
  readonly policy: Policy;
  readonly asked: Asked;
  readonly court: Court;
}

function judgePass(pass: Pass, of: Case): Judgement | Promise<Judgement> {
  const { watched, policy, asked, court } = of;
  const { token = '', what, file } = asked;
  if (pass.expiresAt * 1000 <= court.now())
    return refusal('session.expired', 'The viewer was let in too long ago (plugins.protection.session).');
  if (pass.digest !== watched.digest)
    return refusal('policy.changed', 'The policy was changed since the viewer was let in.');
  if (isRevoked(watched.revocations, { viewer: pass.viewer, since: pass.known }))
    return refusal('viewer.revoked', 'The viewer was revoked.');
  const unfit =
    wrongAudience(pass.audience, what) ??
    wrongVariant(pass.variants, asked) ??
    misfit(pass.extra ?? {}, asked);
  if (unfit) return unfit;
  const allowed: Judgement = carries(what, file) ? { pass: { token: () => token } } : {};
  if (policy.type === 'webhook' && !pass.isOwner) return askWebhook(of, pass);
  if (pass.keyId === '') return allowed;
  const has = pass.isOwner ? court.hasApiKey(pass.keyId) : court.hasKey(watched.account, pass.keyId);
  const check = (isThere: boolean) =>
    isThere ? allowed : refusal('token.key', 'The key of the token was deleted.');
  return typeof has === 'boolean' ? check(has) : has.then(check);
}

async function judgeToken(token: string, { watched, asked, court }: Case): Promise<Judgement> {
  const { what, file, binding } = asked;
  const verified = await court.verify(token, { account: watched.account, now: court.now() });
  if ('problem' in verified) return verified.problem;
  const { claims } = verified;
  const { subject, viewer, maxHeight, issuedAt, expiresAt, keyId } = claims;
  if (!watched.names.includes(subject))
    return refusal('token.subject', 'The token is of another playback id (sub).');
  const audience = claims.audience === 'all' ? audiences : claims.audience;
  const unfit = wrongAudience(audience, what) ?? misfit(claims, asked);
  if (unfit) return unfit;
  if (maxHeight !== undefined && !isLimited(what, file))
    return refusal('token.height', 'A token with maxHeight opens index.m3u8 and pictures only.');
  // In whole seconds: one of the same second was made before. What does not say when it was made was made when it was first seen.
  const since = (issuedAt === undefined ? verified.firstSeen : issuedAt * 1000) - 1;
  const viewerIs = viewerHash(viewer ?? '');
  if (isRevoked(watched.revocations, { viewer: viewerIs, since }))
    return refusal('viewer.revoked', 'The viewer was revoked after the token was made (iat).');
  if (!carries(what, file)) return {};
  const extra = extraOf(claims);
  if (extra && Buffer.byteLength(JSON.stringify(extra)) > maxExtra)
    return refusal('token.claims', `Origins, CIDRs and countries of a token may take ${maxExtra} bytes.`);
  const until = passEnd(court, expiresAt);
  return {
    pass: {
      ...(maxHeight !== undefined && { maxHeight }),
      token: (variants) =>
        court.passes.write(
          {
            ...{ known: watched.revocations.latest, expiresAt: until },
            ...{ digest: watched.digest, keyId, viewer: viewerIs, audience },
            ...(variants && { variants: bitsOf(variants) }),
            ...(extra && { extra }),
          },
          binding,
        ),
    },
  };
}

/** When a pass ends, epoch seconds: after the session, or with its token if that is later. Revocations are remembered as long. */
function passEnd({ now, session }: Court, tokenEnd = 0): number {
  const wanted = Math.max(tokenEnd, Math.ceil((now() + session) / 1000));
  return Math.min(wanted, Math.floor((now() + remembered) / 1000));
}

/** @param pass of a viewer who was let in before: the webhook is asked again when its answer is too old */
async function askWebhook({ watched, policy, asked, court }: Case, pass?: Pass): Promise<Judgement> {
  const { what, file, binding, id, address, origin, userAgent } = asked;
  const token = pass ? pass.extra?.token : asked.token;
  const viewer = pass?.viewer ?? viewerHash(JSON.stringify([address, userAgent, token]));
  if (token !== undefined && Buffer.byteLength(token) > maxExtra / 2)
    return refusal('token.malformed', `A token for a webhook may take ${maxExtra / 2} bytes.`);
  const question: Question = {
    // Whoever was cut off is asked about anew.
    ...{ account: watched.account, key: `${binding} ${viewer} ${watched.revocations.all}` },
    body: {
      ...{ kind: 'play', playbackId: id, ip: address ?? '' },
      ...(origin !== undefined && { origin }),
      ...(userAgent !== undefined && { userAgent }),
      ...(token !== undefined && { token }),
    },
  };
  const answer = await court.ask(policy, question);
  // Nobody was asked: a repeat may be allowed.
  if (answer.isBusy) throw new Error(answer.reason);
  if (!answer.isAllowed) return refusal('webhook.refused', answer.reason);
  if (!carries(what, file)) return {};
  const fresh: Pass = {
    ...{ known: watched.revocations.latest, expiresAt: passEnd(court) },
    ...{ digest: watched.digest, keyId: '', viewer, audience: audiences },
    ...(token !== undefined && { extra: { token } }),
  };
  return { pass: { token: () => (pass ? (asked.token ?? '') : court.passes.write(fresh, binding)) } };
}

function wrongAudience(audience: readonly Audience[], what: PlayQuestion['what']): Misfit | undefined {
  const needed = audienceOf(what);
  if (needed === undefined || audience.includes(needed)) return undefined;
  return refusal('token.audience', `The token does not open a ${needed} (aud).`);
}

/** A pass of a token with `maxHeight` opens the variants that were in its playlist. */
function wrongVariant(variants: bigint | undefined, { what, file }: Asked): Misfit | undefined {
  if (variants === undefined || what === 'image' || what === 'info') return undefined;
  const variant = what === 'download' ? undefined : variantOf(file);
  if (variant === 'shared') return undefined;
  if (variant !== undefined && variant < 64 && (variants >> BigInt(variant)) & 1n) return undefined;
  return refusal('token.height', 'The token does not open this variant (maxHeight).');
}

function isLimited(what: PlayQuestion['what'], file: string): boolean {
  return what === 'image' || what === 'info' || (what === 'playlist' && file === 'index.m3u8');
}

function bitsOf(variants: readonly number[]): bigint {
  return variants.reduce((bits, one) => (one < 64 ? bits | (1n << BigInt(one)) : bits), 0n);
}

/** Whether the answer names URIs that a player fetches next. */
function carries(what: PlayQuestion['what'], file: string): boolean {
  return what === 'playlist' || file.endsWith('.vtt');
}

function extraOf({ origins, allowNoOrigin, cidrs, countries }: Claims): PassExtra | undefined {
  if (!origins && !cidrs && !countries) return undefined;
  return {
    ...(origins && { origins }),
    ...(allowNoOrigin && { allowNoOrigin }),
    ...(cidrs && { cidrs }),
    ...(countries && { countries }),
  };
}

function refusal(rule: string, reason: string): Misfit {
  return { rule, reason };
}
