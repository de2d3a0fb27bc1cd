import { Fault } from '../base/fault.ts';
import type { Kit } from '../plugin/plugin.ts';
import type { Clock } from '../ports/clock.ts';
import { type AccountLimits, accountLimitsOf, type LimitName, overLimit } from './account-limits.ts';

/** Keeps an account from making things for ever. */
export interface Quota {
  /** Takes places for what is about to be made. Throws the `full` fault, or `account.limit`, when there are not so many. */
  admit(account: string, places?: number): Promise<void>;
  /** The same, and makes it: until then it counts beside what is stored. A refusal (4xx) gives the places back. */
  making<T>(account: string, make: () => Promise<T>, places?: number): Promise<T>;
  /** Throws as `admit` does when there are not so many places, and takes none. */
  check(account: string, places: number): Promise<void>;
  /** Something was deleted. */
  gone(account: string): void;
  /** How many there are, as counted at most `age` ms ago and with what was made since. Default: as for `admit`. */
  used(account: string, age?: number): Promise<number>;
}

export interface QuotaOptions {
  readonly clock: Clock;
  /** Things an account may have. May be passed by what several nodes, or plugins, make at the same moment. */
  readonly most: number;
  /** Counts what is stored: once for each account, and again when its quota seems used up. */
  count(account: string): Promise<number>;
  full(): Fault;
  /** The limit of each account that holds too. On a fleet others make things as well, so what is stored is counted each time. */
  readonly limit?: { readonly name: LimitName; readonly kit: Pick<Kit, 'offered' | 'deployment'> };
  /** Counts again after so many ms. For a count that reads all rows, which is too much for each time. */
  readonly staleAfter?: number;
}

/** Shortest time between two counts of an account that seems to be full, ms: a count may read all its rows. */
export const recountInterval = 60_000;
/** A count that takes long is repeated the less often: so many times as long after it. */
const restAfterCount = 100;

/** What is known of one account. */
interface Count {
  used: number;
  /** When it was counted, and how long that took, ms. */
  at: number;
  took: number;
  /** Being made, and maybe not stored yet. */
  pending: number;
  /** The count that is under way, and what was taken since it began. */
  counting?: { readonly done: Promise<void>; taken: number };
}

interface Places {
  readonly places: number;
  readonly isPending?: boolean;
  /** Default: true. Otherwise it is only looked whether there are so many. */
  readonly isTaken?: boolean;
}

/**
 * Counts in memory, so that admitting costs nothing. What went wrong after it was admitted, or was deleted
 * elsewhere, is counted as there until the quota seems used up; then the store has the last word.
 */
export function quota(options: QuotaOptions): Quota {
  const { clock, most, limit: own } = options;
  const isShared = own?.kit.deployment.isAlone === false;
  const staleAfter = options.staleAfter ?? (isShared ? 0 : Number.POSITIVE_INFINITY);
  let limits: AccountLimits | undefined | 'unknown' = 'unknown';

  const limitOf = async (account: string): Promise<number> => {
    if (!own) return Number.POSITIVE_INFINITY;
    if (limits === 'unknown') limits = accountLimitsOf(own.kit);
    return (await limits?.of(account, own.name)) ?? Number.POSITIVE_INFINITY;
  };
  const { countOf, recount, current } = counting(options, staleAfter);
  const take = async (
    account: string,
    { places, isPending = false, isTaken = true }: Places,
  ): Promise<Count> => {
    const limit = await limitOf(account);
    const count = await current(account);
    const isFull = () => count.used + places > Math.min(most, limit);
    if (isFull() && clock.now() - count.at >= recountInterval) await recount(account, count);
    const { used } = count;
    if (used + places > most) throw options.full();
    if (own && used + places > limit) throw overLimit(own.name, { used, limit, more: places });
    if (!isTaken) return count;
    count.used += places;
    if (count.counting) count.counting.taken += places;
    if (isPending) count.pending += places;
    return count;
  };
  return {
    async admit(account, places = 1) {
      await take(account, { places });
    },
    async making(account, make, places = 1) {
      const count = await take(account, { places, isPending: true });
      try {
        return await make();
      } catch (error) {
        if (error instanceof Fault && error.status < 500) count.used -= places;
        throw error;
      } finally {
        count.pending -= places;
      }
    },
    async check(account, places) {
      await take(account, { places, isTaken: false });
    },
    gone(account) {
      countOf(account).used -= 1;
    },
    used: async (account, age) => (await current(account, age)).used,
  };
}

/** What is known of each account, and how it is counted again. */
function counting({ clock, count: countStored, staleAfter: rests }: QuotaOptions, staleAfter: number) {
  const counts = new Map<string, Count>();
  const countOf = (account: string): Count => {
    const known = counts.get(account);
    if (known) return known;
    const count = { used: 0, at: Number.NEGATIVE_INFINITY, took: 0, pending: 0 };
    counts.set(account, count);
    return count;
  };
  const isCounted = ({ at }: Count) => at !== Number.NEGATIVE_INFINITY;
  /** Counts what is stored, or waits for the count that is under way. */
  const recount = (account: string, count: Count): Promise<void> => {
    if (count.counting) return count.counting.done;
    const { pending } = count;
    const at = clock.now();
    const work = async () => {
      try {
        const stored = await countStored(account);
        count.used = stored + pending + (count.counting?.taken ?? 0);
        count.at = at;
        count.took = clock.now() - at;
      } finally {
        delete count.counting;
      }
    };
    // What could not be counted is counted next time.
    count.counting = { done: Promise.resolve().then(work), taken: 0 };
    return count.counting.done;
  };
  const current = async (account: string, asked?: number): Promise<Count> => {
    const age = asked ?? staleAfter;
    const count = countOf(account);
    const rest = rests === undefined ? 0 : count.took * restAfterCount;
    const isFresh = isCounted(count) && clock.now() - count.at < Math.max(age, rest);
    if (isFresh) return count;
    const counting = recount(account, count);
    // A count that takes long goes on beside: until it is done, the last one holds with what was taken since.
    if (rests === undefined || !isCounted(count) || asked !== undefined) await counting;
    else counting.catch(() => {});
    return count;
  };
  return { countOf, recount, current };
}
