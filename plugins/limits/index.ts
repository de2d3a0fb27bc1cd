import { accountLimits, storedKinds, usages } from '../../core/http/account-limits.ts';
import { authenticator } from '../../core/http/auth.ts';
import { idempotencyKind } from '../../core/http/idempotency.ts';
import { requestLimits } from '../../core/http/request-limits.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { field } from '../../core/plugin/resource.ts';
import { offer, token } from '../../core/plugin/token.ts';
import { account, accounts } from '../accounts/contract.ts';
import { countedLimits, countingLimits } from './accounts.ts';
import { AttemptCounts } from './attempts.ts';
import { config, type LimitsKit, limitsSchema } from './config.ts';
import { checkDocument } from './documents.ts';
import { EncodingUse } from './encoding.ts';
import { Beginnings } from './publish.ts';
import { type RateLimits, rateLimits } from './requests.ts';
import { usageRoutes } from './usage.ts';

/** What this plugin counts by itself. */
interface Counts {
  readonly encoding: EncodingUse;
  readonly attempts: AttemptCounts;
  readonly rates: RateLimits;
}

const counts = token<Counts>('limits.counts');

/** How old the sum of stored bytes may be that is shown, ms. */
const shownAge = 2000;

/** No client and no account takes what belongs to all: rates of requests, and limits of accounts. */
export default definePlugin({
  id: 'limits',
  summary: 'limits of requests and accounts',
  config,
  needs: [accounts, authenticator, counts, countedLimits],
  provides: [counts, countedLimits],
  extends: [
    // Absent where it was not set: the limits of the deployment hold.
    field(account, 'limits', { schema: limitsSchema, initial: undefined }),
  ],
  offers: [
    offer(accountLimits, (kit: LimitsKit) => kit.use(countedLimits)),
    offer(requestLimits, requestsOf),
    offer(storedKinds, () => ({ kind: 'api-token' })),
    offer(storedKinds, () => ({ kind: idempotencyKind })),
    offer(usages, (kit: LimitsKit) => ({
      name: 'storedBytes',
      used: (id) => kit.use(countedLimits).stored.used(id, shownAge),
    })),
    offer(usages, (kit: LimitsKit) => ({
      name: 'encodingSeconds',
      used: (id) => kit.use(counts).encoding.used(id),
    })),
    offer(usages, (kit: LimitsKit) => ({
      name: 'webhookAttempts',
      used: async (id) => kit.use(counts).attempts.most(id),
    })),
  ],
  routes: usageRoutes,
  start(kit) {
    const encoding = new EncodingUse(kit);
    const attempts = new AttemptCounts(kit.clock);
    const rates = rateLimits(kit);
    kit.provide(counts, { encoding, attempts, rates });
    const beginnings = new Beginnings();
    kit.provide(countedLimits, countingLimits(kit, { encoding, attempts, beginnings }));
    return async () => {
      rates.stop();
      await encoding.stop();
    };
  },
});

const unchecked: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE']);

function requestsOf(kit: LimitsKit) {
  const { rates } = kit.use(counts);
  const limits = kit.use(countedLimits);
  const { unknown, open } = rates;
  const keyed: typeof rates.keyed = (request, asker) => {
    const waits = rates.keyed(request, asker);
    // Most requests only read: they go on at once. Deleting is always possible.
    if (unchecked.has(request.method)) return waits;
    const check = () => checkDocument(request, { asker, limits });
    return waits ? waits.then(check) : check();
  };
  return { keyed, unknown, open };
}
