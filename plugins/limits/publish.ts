import { type AccountLimits, type BeginningBroadcast, overLimit } from '../../core/http/account-limits.ts';
import type { LimitsKit } from './config.ts';

/** How long a broadcast that may begin counts before its playlist works, ms. */
const beginning = 15_000;

/** Broadcasts that may begin and are not on the air yet, of this node. */
export class Beginnings {
  /** Stream → when it was allowed. */
  readonly #streams = new Map<string, { readonly account: string; readonly at: number }>();

  add(streamId: string, { account, now }: { account: string; now: number }): void {
    for (const [id, { at }] of this.#streams) {
      if (now - at < beginning) break;
      this.#streams.delete(id);
    }
    this.#streams.delete(streamId);
    this.#streams.set(streamId, { account, at: now });
  }

  of(account: string, now: number): string[] {
    return [...this.#streams].flatMap(([id, one]) =>
      one.account === account && now - one.at < beginning ? [id] : [],
    );
  }
}

interface Publish {
  readonly limits: AccountLimits;
  readonly kit: LimitsKit;
  readonly beginnings: Beginnings;
}

/** Why a broadcast of this account may not begin. */
export async function publishRefusal(
  { streamId, account, isRecorded }: BeginningBroadcast,
  { limits, kit, beginnings }: Publish,
): Promise<string | undefined> {
  // What is recorded is stored, and nobody can say how much it will be.
  if (isRecorded && (await limits.room(account)) === 0)
    return 'The account has used up its storage (storedBytes): delete assets, or turn off record.';
  const limit = await limits.of(account, 'broadcasts');
  if (limit === null) return undefined;
  const where = { role: 'parent', active: 'true' };
  const active = await kit.resources.list('stream', { account, where, limit: Math.min(1000, limit + 1) });
  // From here on nobody else has a turn.
  const now = kit.clock.now();
  const running = new Set([...active.map(({ id }) => id), ...beginnings.of(account, now)]);
  const used = running.size;
  if (!running.has(streamId) && used >= limit) return overLimit('broadcasts', { used, limit }).message;
  beginnings.add(streamId, { account, now });
  return undefined;
}
