import type { Principal } from '../../core/http/auth.ts';
import { accountLimits } from './limits.ts';

/** The keys that were used lately, so that a request reads no row to learn whose it is. */
export interface KeyMemory {
  /** @param hash SHA-256 of the key */
  get(hash: Uint8Array): Principal | undefined;
  /** Looks a key up and remembers it, unless one was forgotten meanwhile: what was read may have been that one. */
  learn(hash: Uint8Array, find: () => Promise<Principal | undefined>): Promise<Principal | undefined>;
  /** The key with this id was used lately, and is not deleted. */
  knows(keyId: string): boolean;
  forget(keyId: string): void;
}

/** Holds true where this process alone deletes keys: it forgets one before the deletion is answered. */
export function keyMemory(): KeyMemory {
  const known = new Map<string, Principal>();
  let forgotten = 0;
  return {
    get: (hash) => known.get(nameOf(hash)),
    async learn(hash, find) {
      const before = forgotten;
      const principal = await find();
      if (!principal || forgotten !== before) return principal;
      const [oldest] = known.keys();
      if (known.size >= accountLimits.remembered.value && oldest !== undefined) known.delete(oldest);
      known.set(nameOf(hash), principal);
      return principal;
    },
    knows: (keyId) => known.values().some((principal) => principal.keyId === keyId),
    forget(keyId) {
      forgotten += 1;
      for (const [name, principal] of known) if (principal.keyId === keyId) known.delete(name);
    },
  };
}

/** Nobody learns a key from how long the lookup takes: only its hash is compared, which a caller cannot choose. */
function nameOf(hash: Uint8Array): string {
  return Buffer.from(hash).toString('base64');
}
