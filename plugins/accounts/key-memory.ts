import type { Principal } from '../../core/http/auth.ts';

/** Keys in memory. */
export const maxRemembered = 1000;

/** Recently used keys, so that a request reads no row to find its account. */
export interface KeyMemory {
  /** @param hash SHA-256 of the key */
  get(hash: Uint8Array): Principal | undefined;
  /** Looks up a key and remembers it, unless a key was forgotten meanwhile: it may have been this one. */
  learn(hash: Uint8Array, find: () => Promise<Principal | undefined>): Promise<Principal | undefined>;
  /** The key with this id was used lately and is not deleted. */
  knows(keyId: string): boolean;
  forget(keyId: string): void;
}

/** Correct only if no other process deletes keys: this one forgets a key before it answers the deletion. */
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
      if (known.size >= maxRemembered && oldest !== undefined) known.delete(oldest);
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

/** The time of the lookup reveals nothing: only hashes are compared, which a caller cannot choose. */
function nameOf(hash: Uint8Array): string {
  return Buffer.from(hash).toString('base64');
}
