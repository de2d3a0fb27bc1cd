import { fairTurn } from '../../core/base/fair-turns.ts';
import {
  type AccountLimits,
  documentBytes,
  type LimitName,
  overLimit,
  storedKinds,
} from '../../core/http/account-limits.ts';
import { type Quota, quota } from '../../core/http/quota.ts';
import { isEndOfLog } from '../../core/plugin/events.ts';
import { rowPages } from '../../core/plugin/row-pages.ts';
import { token } from '../../core/plugin/token.ts';
import { type AccountFields, accounts } from '../accounts/contract.ts';
import type { AttemptCounts } from './attempts.ts';
import { defaultOf, type LimitsKit } from './config.ts';
import type { EncodingUse } from './encoding.ts';
import { type Beginnings, publishRefusal } from './publish.ts';

/** Rows and events read at a time to sum up what they take, and of events about how many characters: a millisecond. */
const page = 200;
const pageCharacters = 262_144;
/** How long a sum of bytes is believed, ms: recordings, conversions and deletions change it without a word. */
const staleAfter = 60_000;
const staleOnFleet = 15_000;

/** Limits of accounts with what this plugin counts itself. */
export interface CountedLimits extends AccountLimits {
  readonly stored: Quota;
}

export const countedLimits = token<CountedLimits>('limits.counted');

type Limits = Partial<Readonly<Record<LimitName, number | null>>>;

export function countingLimits(
  kit: LimitsKit,
  {
    encoding,
    attempts,
    beginnings,
  }: { encoding: EncodingUse; attempts: AttemptCounts; beginnings: Beginnings },
): CountedLimits {
  const known = kit.use(accounts);
  const inForce = (account: string, { name, fields }: { name: LimitName; fields: AccountFields }) => {
    const own = (fields.limits as Limits | null | undefined)?.[name];
    if (own !== undefined) return own;
    return account === known.adminId ? null : defaultOf(name, kit.config);
  };
  const of: AccountLimits['of'] = (account, name) => {
    const fields = known.fields(account);
    if (fields instanceof Promise) return fields.then((read) => inForce(account, { name, fields: read }));
    return inForce(account, { name, fields });
  };
  const stored = quota({
    clock: kit.clock,
    most: Number.POSITIVE_INFINITY,
    limit: { name: 'storedBytes', kit },
    count: (account) => bytesStored(account, kit),
    // Never: there is no bound but that of the account.
    full: () => overLimit('storedBytes', { used: 0, limit: 0 }),
    staleAfter: kit.deployment.isAlone ? staleAfter : staleOnFleet,
  });
  const limits: CountedLimits = {
    of,
    stored,
    async store(account, { bytes, isTaken }) {
      if ((await of(account, 'storedBytes')) === null) return;
      await (isTaken ? stored.admit(account, bytes) : stored.check(account, bytes));
    },
    async room(account) {
      const limit = await of(account, 'storedBytes');
      return limit === null ? Number.POSITIVE_INFINITY : Math.max(0, limit - (await stored.used(account)));
    },
    async encode(account, seconds) {
      const limit = await of(account, 'encodingSeconds');
      const used = limit === null ? 0 : await encoding.used(account);
      if (limit !== null && used + seconds > limit)
        throw overLimit('encodingSeconds', { used: Math.round(used), limit, more: Math.ceil(seconds) });
      await encoding.note(account, seconds);
    },
    async attempt(account, host) {
      const limit = await of(account, 'webhookAttempts');
      return attempts.take(account, { host, limit });
    },
    encoded: (account, seconds) => encoding.add(account, seconds),
    publish: (question) => publishRefusal(question, { limits, kit, beginnings }),
  };
  return limits;
}

/** All that an account has stored: its rows, the files that they name, and its events of the last 24 h. */
async function bytesStored(account: string, kit: LimitsKit): Promise<number> {
  let bytes = 0;
  for (const { kind, bytes: bytesOf = documentBytes } of kit.offered(storedKinds)) {
    for await (const rows of rowPages(kind, { account, page, resources: kit.resources })) {
      for (const row of rows) bytes += bytesOf(row);
    }
  }
  return bytes + (await bytesOfEvents(account, kit));
}

async function bytesOfEvents(account: string, { events }: LimitsKit): Promise<number> {
  const asked = { account, limit: page, characters: pageCharacters };
  let bytes = 0;
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const found = await events.before(before, asked);
    for (const event of found) bytes += documentBytes(event);
    if (isEndOfLog(found, asked)) return bytes;
    before = found.at(-1)?.position ?? 0;
    await fairTurn(account);
  }
}
