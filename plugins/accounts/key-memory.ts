import { timingSafeEqual } from 'node:crypto';
import type { Principal } from '../../core/auth.ts';
import { accountLimits } from './limits.ts';

/** The keys that were used lately, so that a request reads no row to learn whose it is. */
export interface KeyMemory {
  /** @param hash SHA-256 of the key */
  get(hash: Uint8Array): Principal | undefined;
  /**
   * Looks a key up and remembers it, unless one was forgotten meanwhile: what was read may have been that one. The hash is kept,
   * and must not change.
   */
  learn(hash: Uint8Array, find: () => Promise<Principal | undefined>): Promise<Principal | undefined>;
  forget(keyId: string): void;
}

/** Holds true where this process alone deletes keys: it forgets one before the deletion is answered. */
export function keyMemory(): KeyMemory {
  const known = new Map<number, Known>();
  let forgotten = 0;
  return {
    get(hash) {
      const found = known.get(beginOf(hash));
      return found && timingSafeEqual(found.hash, hash) ? found.principal : undefined;
    },
    async learn(hash, find) {
      const before = forgotten;
      const principal = await find();
      if (!principal || forgotten !== before) return principal;
      const [oldest] = known.keys();
      if (known.size >= accountLimits.remembered.value && oldest !== undefined) known.delete(oldest);
      known.set(beginOf(hash), { hash, principal });
      return principal;
    },
    forget(keyId) {
      forgotten += 1;
      for (const [begin, { principal }] of known) if (principal.keyId === keyId) known.delete(begin);
    },
  };
}

interface Known {
  readonly hash: Uint8Array;
  readonly principal: Principal;
}

/** The first 48 bits, which is found sooner than text. Of two hashes that begin alike the one learned last is remembered. */
function beginOf(hash: Uint8Array): number {
  const high = ((hash[0] ?? 0) << 16) | ((hash[1] ?? 0) << 8) | (hash[2] ?? 0);
  const low = ((hash[3] ?? 0) << 16) | ((hash[4] ?? 0) << 8) | (hash[5] ?? 0);
  return high * 2 ** 24 + low;
}
