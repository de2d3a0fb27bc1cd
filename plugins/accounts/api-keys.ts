import { timingSafeEqual } from 'node:crypto';
import type { Authenticator, Principal } from '../../core/auth.ts';
import type { Kit } from '../../core/plugin.ts';
import { token } from '../../core/token.ts';
import { keyMemory } from './key-memory.ts';
import { documentOf, hashOf } from './token-document.ts';

/** What the routes of this plugin need beyond what others may use. */
export interface ApiKeys extends Authenticator {
  /** The store is asked about this key again. */
  forget(keyId: string): void;
  /** Tells whoever waits for it that this key has been deleted. */
  revoked(keyId: string): void;
}

export const apiKeys = token<ApiKeys>('accounts.keys');

/** The bootstrap key and those in the store. A deleted key is unknown at once: it is forgotten before that is answered. */
export function storedKeys(kit: Kit, options: { bootstrap: { key: string; accountId: string } }): ApiKeys {
  const admin: Principal = {
    accountId: options.bootstrap.accountId,
    isAdmin: true,
    keyId: undefined,
    keyName: 'bootstrap',
    access: {},
  };
  const bootstrapHash = hashOf(options.bootstrap.key);
  const listeners = new Map<string, Set<() => void>>();
  const memory = keyMemory();

  const find = async (hash: Buffer): Promise<Principal | undefined> => {
    const row = await kit.resources.find('api-token', 'hash', hash.toString('hex'));
    if (!row) return undefined;
    const { account, id, name, access } = documentOf(row);
    return { accountId: account, isAdmin: account === admin.accountId, keyId: id, keyName: name, access };
  };

  const revoked = (keyId: string) => {
    const called = listeners.get(keyId);
    listeners.delete(keyId);
    for (const listener of called ?? []) listener();
  };

  return {
    async principal(key) {
      const hash = hashOf(key);
      if (timingSafeEqual(hash, bootstrapHash)) return admin;
      const name = hash.toString('latin1');
      return memory.get(name) ?? memory.learn(name, () => find(hash));
    },
    onRevoked({ keyId }, listener) {
      if (keyId === undefined) return () => {};
      const called = listeners.get(keyId) ?? new Set();
      listeners.set(keyId, called.add(listener));
      // It may have been deleted between the check of the request and now.
      kit.resources.get('api-token', keyId).then(
        (row) => row ?? revoked(keyId),
        (error: unknown) => kit.log.warn('an API key could not be looked up again', { error }),
      );
      return () => {
        called.delete(listener);
        if (called.size === 0 && listeners.get(keyId) === called) listeners.delete(keyId);
      };
    },
    forget: memory.forget,
    revoked,
  };
}
