import { createHash, timingSafeEqual } from 'node:crypto';
import { regularly } from '../../core/base/timing.ts';
import type { Authenticator, Principal } from '../../core/http/auth.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import { token } from '../../core/plugin/token.ts';
import { documentOf } from './token-document.ts';

/** For the routes of this plugin. */
export interface ApiKeys extends Authenticator {
  /** A key is being deleted: all are read from the store next time. */
  forget(): void;
  /** Calls the listeners for the deletion of this key, on all nodes. */
  revoked(keyId: string): void;
}

export const apiKeys = token<ApiKeys>('accounts.keys');

/**
 * The bootstrap key and those in the store. A deleted key is unknown at once on every node: a single node forgets it before it
 * answers, and with several nodes no key is remembered. Listeners for a deletion are called by the node that deletes the key, and
 * at the latest by the next regular check.
 */
export function storedKeys(
  kit: Kit,
  options: { bootstrap: { hash: Buffer; accountId: string } },
): ApiKeys & { stop(): Promise<void> } {
  const { accountId } = options.bootstrap;
  const admin: Principal = { accountId, isAdmin: true, keyId: undefined, keyName: 'bootstrap', access: {} };
  const listeners = new Set<{ readonly keyId: string; readonly revoked: () => void }>();
  const { isAlone } = kit.deployment;
  /** Recently used keys by their hash, on a single node: a request reads no row to find its account. */
  let known = new Map<string, Principal>();

  const find = async (hash: string): Promise<Principal | undefined> => {
    const before = known;
    const row = await kit.resources.find('api-token', 'hash', hash);
    if (!row) return undefined;
    const { account, id, name, access } = documentOf(row);
    const principal = {
      ...{ accountId: account, isAdmin: account === admin.accountId, keyId: id, keyName: name, access },
    };
    // Not into the map of now: this key may have been deleted since it was read.
    if (isAlone && before.size < maxKnown) before.set(hash, principal);
    return principal;
  };

  const revoked = (keyId: string) => {
    for (const listener of [...listeners].filter((one) => one.keyId === keyId)) {
      listeners.delete(listener);
      listener.revoked();
    }
  };
  /** Another node may have deleted it. */
  const lookAgain = async (keyId: string) => {
    try {
      if (!(await kit.resources.get('api-token', keyId))) revoked(keyId);
    } catch (error) {
      kit.log.warn('an API key could not be looked up again', { error });
    }
  };
  const lookAtAll = async (signal: AbortSignal) => {
    // One after the other: there may be a thousand, and it is not urgent.
    const keyIds = new Set([...listeners].map(({ keyId }) => keyId));
    for (const keyId of keyIds) if (!signal.aborted) await lookAgain(keyId);
  };
  const stops = isAlone
    ? []
    : [
        kit
          .use(services.volatile)
          .listen(revokedTopic, (keyId) => typeof keyId === 'string' && revoked(keyId)),
        regularly(lookAgainInterval, {
          ...{ clock: kit.clock, work: lookAtAll },
          failed: (error) => kit.log.warn('API keys could not be looked up again', { error }),
        }),
      ];

  return {
    async principal(key) {
      const hash = createHash('sha256').update(key).digest();
      if (timingSafeEqual(hash, options.bootstrap.hash)) return admin;
      const text = hash.toString('hex');
      return known.get(text) ?? find(text);
    },
    async exists(keyId) {
      if (keyId === undefined) return true;
      return (await kit.resources.get('api-token', keyId)) !== undefined;
    },
    onRevoked({ keyId }, revoked) {
      if (keyId === undefined) return () => {};
      const listener = { keyId, revoked };
      listeners.add(listener);
      // It may have been deleted between the check of the request and now.
      void lookAgain(keyId);
      return () => listeners.delete(listener);
    },
    forget() {
      known = new Map();
    },
    revoked(keyId) {
      revoked(keyId);
      if (isAlone) return;
      kit
        .use(services.volatile)
        .announce(revokedTopic, keyId)
        .catch((error: unknown) => kit.log.warn('a deleted API key could not be announced', { error }));
    },
    async stop() {
      await Promise.all(stops.map((stop) => stop()));
    },
  };
}

/** Keys in memory; further ones are read from the store each time. */
const maxKnown = 10_000;
/** How often a node checks whether the key of an open event stream was deleted on another node, ms; announcements may get lost. */
const lookAgainInterval = 5000;
/** Announces ids of deleted keys to all nodes. */
const revokedTopic = 'keys/revoked';
