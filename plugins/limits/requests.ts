import { Fault } from '../../core/base/fault.ts';
import type { Counter } from '../../core/base/metrics.ts';
import { networkOf } from '../../core/base/network.ts';
import { noteRate, type RequestLimits } from '../../core/http/request-limits.ts';
import { accounts } from '../accounts/contract.ts';
import type { Rate } from './bucket.ts';
import { Buckets } from './buckets.ts';
import type { LimitsKit } from './config.ts';

/** Buckets in memory, of keys, of accounts and of addresses each; about 200 bytes. */
const maxBuckets = 20_000;
/** Requests that wait for their turn on this node: for that of their key, of their account and of their address each. */
const maxWaiting = 1024;
/** Cost of a request that changes something: a commit to the store. */
const writeCost = 2;
/** Rows of a list that cost as much as one request. */
const rowsPerCost = 100;
/** No list has more. */
const maxRows = 1000;
/** Bytes of a body that cost as much as one request. */
const bytesPerCost = 32_768;
/** Of a request whose key is missing or wrong. */
const unknownCost = 5;

export interface RateLimits extends RequestLimits {
  /** Lets all go on that wait. */
  stop(): void;
}

/**
 * One token bucket for each API key, one for each account, which may make thousands of keys, and one for each address that comes
 * without a key. Of this node alone.
 */
export function rateLimits(kit: LimitsKit): RateLimits {
  const { config } = kit;
  const refused = kit.metrics.counter(
    'millrace_limits_refused_total',
    'Requests that were answered 429 `rate.limited`, by what they were counted for.',
  );
  const keys = limiter(kit, {
    name: 'key',
    rate: { perSecond: config.keyRate, burst: config.keyBurst },
    refused: refused.with({ by: 'key' }),
    whose: 'with this API key (plugins.limits.keyRate)',
  });
  const accountsOf = limiter(kit, {
    name: 'account',
    rate: { perSecond: config.accountRate, burst: config.accountBurst },
    refused: refused.with({ by: 'account' }),
    whose: 'with the API keys of this account (plugins.limits.accountRate)',
    // The answer says what is left of the key.
    isTold: false,
  });
  const { adminId } = kit.use(accounts);
  const addresses = limiter(kit, {
    name: 'address',
    rate: { perSecond: config.addressRate, burst: config.addressBurst },
    refused: refused.with({ by: 'address' }),
    whose: 'from this address without a valid API key (plugins.limits.addressRate)',
  });
  const fromAddress = (request: Request, cost: number) => {
    const { address } = kit.caller(request);
    return address === undefined ? undefined : addresses.pass(request, { client: networkOf(address), cost });
  };
  return {
    // The bootstrap key has none: it is the operator's, who would lock out himself.
    keyed(request, { keyId, accountId }) {
      if (keyId === undefined) return undefined;
      const cost = costOf(request);
      const ofKey = keys.pass(request, { client: keyId, cost });
      if (accountId === adminId) return ofKey;
      const ofAccount = () => accountsOf.pass(request, { client: accountId, cost });
      return ofKey ? ofKey.then(ofAccount) : ofAccount();
    },
    unknown: (request) => fromAddress(request, unknownCost),
    open: (request) => fromAddress(request, costOf(request)),
    stop() {
      keys.stop();
      accountsOf.stop();
      addresses.stop();
    },
  };
}

/** What a request costs, in tokens. */
export function costOf({ method, url, headers }: Request): number {
  if (method === 'GET' || method === 'HEAD') {
    // As the list reads it.
    const rows = url.includes('?') ? Number(new URL(url).searchParams.get('limit') ?? 0) || 0 : 0;
    return Math.max(1, Math.ceil(Math.min(rows, maxRows) / rowsPerCost));
  }
  return writeCost + Math.floor(Number(headers.get('content-length') ?? 0) / bytesPerCost || 0);
}

interface LimiterOptions {
  /** Of the policy, in the headers. */
  readonly name: string;
  readonly rate: Rate;
  readonly refused: Counter;
  /** Of which requests there were too many. */
  readonly whose: string;
  /** Whether every answer says what is left. Default: true. */
  readonly isTold?: boolean;
}

function limiter({ clock }: LimitsKit, { name, rate, refused, whose, isTold = true }: LimiterOptions) {
  const buckets = new Buckets({ most: maxBuckets });
  const policy = `"${name}";q=${rate.burst};w=${Math.max(1, Math.round(rate.burst / rate.perSecond))}`;
  /** Lets each go on that waits. */
  const waiting = new Set<() => void>();
  const pass = (request: Request, { client, cost }: { client: string; cost: number }) => {
    const now = clock.now();
    const bucket = buckets.of(client, { rate, now });
    const verdict = bucket.take(rate, { cost, now, mayHold: waiting.size < maxWaiting });
    const { remaining, reset } = bucket.left(rate);
    if (isTold || 'retryAfter' in verdict)
      noteRate(request, { policy, limit: `"${name}";r=${remaining};t=${reset}` });
    if ('retryAfter' in verdict) {
      const { retryAfter } = verdict;
      refused.add();
      const message = `Too many requests ${whose}. Repeat it in ${retryAfter} s, as \`Retry-After\` says.`;
      throw new Fault('rate.limited', { status: 429, message, retryAfter });
    }
    if (verdict.wait === 0) return undefined;
    return new Promise<void>((resolve) => {
      bucket.held += 1;
      const goOn = () => {
        cancel();
        waiting.delete(goOn);
        bucket.held -= 1;
        resolve();
      };
      const cancel = clock.at(now + verdict.wait, goOn);
      waiting.add(goOn);
    });
  };
  return {
    pass,
    stop() {
      for (const goOn of waiting) goOn();
    },
  };
}
