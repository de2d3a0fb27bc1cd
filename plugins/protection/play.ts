import { milliseconds } from '../../core/base/config-fields.ts';
import { Remembered } from '../../core/base/remembered.ts';
import { authenticator } from '../../core/http/auth.ts';
import type { PlayDecision, PlayQuestion, PlaySubject } from '../../core/plugin/decide.ts';
import { services } from '../../core/plugin/services.ts';
import { accounts } from '../accounts/contract.ts';
import type { ProtectionKit } from './config.ts';
import { deploymentPolicy, type Policy, tokenDialects } from './contract.ts';
import { countryOf } from './countries.ts';
import { type Asked, type Court, isMisfit, type Judgement, judge, type Misfit } from './judge.ts';
import { Passes } from './pass.ts';
import { accountKeys } from './signing-keys.ts';
import { tokenVerifier } from './token.ts';
import { bindingOf, type WatchedFinder, watchedFinder } from './watched.ts';
import { asker, type Question } from './webhook.ts';
import { webhookSecret } from './webhook-secret.ts';

/** Refusals that were told, so that an owner hears of each at most once a minute. */
const maxTold = 10_000;
const between = 60_000;

/** What one process knows of what is protected. */
export interface Protection {
  readonly court: Court;
  readonly watched: WatchedFinder;
}

const made = new WeakMap<object, Protection & { readonly told: Map<string, number> }>();

/** The same for all requests of a process. */
export function protectionOf(kit: ProtectionKit): Protection & { readonly told: Map<string, number> } {
  const known = made.get(kit.deployment);
  if (known) return known;
  const keys = accountKeys(kit);
  const ask = asker(kit);
  const apiKeys = new Remembered<boolean>({ clock: kit.clock, fresh: 1000, most: 2000 });
  const court: Court = {
    now: () => kit.clock.now(),
    passes: new Passes(kit.use(services.secrets).keyFor('playback passes')),
    session: milliseconds(kit.config.session),
    hasKey: (account, keyId) => keys.has(account, keyId),
    hasApiKey: (keyId) => apiKeys.get(keyId, () => kit.use(authenticator).exists(keyId)),
    verify: tokenVerifier(kit, { keys, dialects: kit.offered(tokenDialects) }),
    ask: (policy, question) => ask({ ...question, ...webhookOf(policy, { question, kit }) }),
  };
  const protection = { court, watched: watchedFinder(kit), told: new Map<string, number>() };
  made.set(kit.deployment, protection);
  return protection;
}

/** The address that a policy asks. */
function webhookOf(
  policy: Policy,
  { question: { account }, kit }: { question: Question; kit: ProtectionKit },
) {
  const { webhookUrl: url = '', onError = 'refuse' } = policy;
  const own = { url, onError, account, secret: () => webhookSecret({ account, url }, kit) };
  if (kit.offered(deploymentPolicy)[0]?.webhookUrl !== url) return own;
  // The operator's server may be in its own network, and its secret is in the config.
  const secret = async () => (await own.secret()) ?? kit.config.webhookSecret;
  return { ...own, account: kit.use(accounts).adminId, secret };
}

/** Decides about a request of a viewer. */
export function decidePlay(question: PlayQuestion, kit: ProtectionKit): PlayDecision | Promise<PlayDecision> {
  const { court, watched } = protectionOf(kit);
  const found = watched.of(question);
  if (found instanceof Promise)
    return found.then((known) => (known.policy ? settle(judge(known, askedBy(question, kit), court)) : open));
  return found.policy ? settle(judge(found, askedBy(question, kit), court)) : open;

  function settle(judgement: Judgement | Promise<Judgement>): PlayDecision | Promise<PlayDecision> {
    return judgement instanceof Promise
      ? judgement.then((one) => decisionOf(one, { question, kit }))
      : decisionOf(judgement, { question, kit });
  }
}

const open: PlayDecision = { allow: { isForAll: true } };

function decisionOf(judgement: Judgement, of: { question: PlayQuestion; kit: ProtectionKit }): PlayDecision {
  if (!isMisfit(judgement)) {
    if (judgement.pass) return { allow: { pass: judgement.pass } };
    // Playlists and pictures are made for their viewer, or may show what a segment alone does not.
    return of.kit.config.sharedMedia && of.question.what === 'media' ? open : undefined;
  }
  tell(judgement, of);
  return { refuse: judgement.reason };
}

function askedBy(question: PlayQuestion, kit: ProtectionKit): Asked {
  const { address, request, what, file, userAgent, token } = question;
  // Asked for each part: what no rule looks at is not worked out.
  const base = () => new URL(kit.caller(request).baseUrl).origin;
  return {
    ...{ what, file, userAgent, token, address, binding: bindingOf(question) },
    get id() {
      return idOf(question);
    },
    get origin() {
      return originOf(request, base);
    },
    get ownOrigins() {
      return [new URL(kit.deployment.publicUrl).origin, base()];
    },
    get country() {
      return countryOf(address, kit);
    },
  };
}

/** Pages of this server send no `Origin` with what they fetch from it, and name no referrer. */
function originOf({ headers }: Request, own: () => string): string | undefined {
  const origin = headers.get('origin');
  if (origin !== null && origin !== 'null') return origin;
  if (headers.get('sec-fetch-site') === 'same-origin') return own();
  const referrer = headers.get('referer');
  if (referrer !== null && URL.canParse(referrer)) return new URL(referrer).origin;
  return undefined;
}

export function idOf({ playbackId, sessionId, assetId }: PlaySubject): string {
  return playbackId ?? sessionId ?? assetId ?? '';
}

/** Tells the owner, once a minute for each rule, however many are refused. */
function tell(
  { rule, reason }: Misfit,
  { question, kit }: { question: PlayQuestion; kit: ProtectionKit },
): void {
  const { account, kind, streamId, sessionId, assetId } = question;
  const { told } = protectionOf(kit);
  const now = kit.clock.now();
  const playbackId = idOf(question);
  const key = `${playbackId} ${rule}`;
  if (now - (told.get(key) ?? Number.NEGATIVE_INFINITY) < between) return;
  told.delete(key);
  told.set(key, now);
  const [oldest = ''] = told.keys();
  if (told.size > maxTold) told.delete(oldest);
  kit.events
    .emit({
      ...{ type: 'playback.refused', account },
      ...(streamId !== undefined && { stream: streamId }),
      payload: { kind, playbackId, sessionId, assetId, rule, reason },
      // Other nodes tell the same.
      id: `${key.replace(' ', '/')}/${Math.floor(now / between)}`,
    })
    .catch((error: unknown) => kit.log.debug('a refusal could not be told', { error, playbackId, rule }));
}
