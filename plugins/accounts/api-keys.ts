import { createHash, timingSafeEqual } from 'node:crypto';
import { regularly } from '../../core/base/timing.ts';
import type { Authenticator, Principal } from '../../core/http/auth.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import { token } from '../../core/plugin/token.ts';
import { KeyUse } from './key-use.ts';
import { documentOf, type TokenDocument } from './token-document.ts';

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
export class StoredKeys implements ApiKeys {
  readonly #kit: Kit;
  readonly #bootstrapHash: Buffer;
  readonly #admin: Principal;
  readonly #isAlone: boolean;
  readonly #listeners = new Set<{ readonly keyId: string; readonly revoked: () => void }>();
  /** Recently used keys by their hash, on a single node: a request reads no row to find its account. */
  #known = new Map<string, Principal>();
  readonly #use: KeyUse;
  readonly #stops: (() => void | Promise<void>)[] = [];

  constructor(kit: Kit, { bootstrap }: { bootstrap: { hash: Buffer; accountId: string } }) {
    const { hash, accountId } = bootstrap;
    this.#kit = kit;
    this.#bootstrapHash = hash;
    this.#admin = { accountId, isAdmin: true, keyId: undefined, keyName: 'bootstrap', access: {} };
    this.#isAlone = kit.deployment.isAlone;
    this.#use = new KeyUse(kit);
    if (!this.#isAlone) this.#hearOfOthers();
  }

  async principal(key: string): Promise<Principal | undefined> {
    const hash = createHash('sha256').update(key).digest();
    if (timingSafeEqual(hash, this.#bootstrapHash)) return this.#admin;
    const text = hash.toString('hex');
    const found = this.#known.get(text) ?? (await this.#find(text));
    if (!found || this.#isExpired(found)) return undefined;
    this.#use.note(found, text);
    return found;
  }

  async exists(keyId: string | undefined): Promise<boolean> {
    if (keyId === undefined) return true;
    const row = await this.#kit.resources.get('api-token', keyId);
    return row !== undefined && !this.#isExpired(documentOf(row));
  }

  onRevoked({ keyId, expiresAt }: Principal, revoked: () => void): () => void {
    if (keyId === undefined) return () => {};
    const listener = { keyId, revoked };
    let cancel = () => {};
    const expireAt = (at: number | undefined) => {
      if (at !== undefined && this.#listeners.has(listener))
        cancel = this.#kit.clock.at(at, () => this.#revokeHere(keyId));
    };
    this.#listeners.add(listener);
    expireAt(expiresAt);
    // It may have been deleted between the check of the request and now; and who has only its id does not know when it expires.
    void this.#lookAgain(keyId).then((found) => expiresAt === undefined && expireAt(found?.expiresAt));
    return () => {
      cancel();
      this.#listeners.delete(listener);
    };
  }

  #isExpired({ expiresAt }: Pick<Principal, 'expiresAt'>): boolean {
    return expiresAt !== undefined && expiresAt <= this.#kit.clock.now();
  }

  forget(): void {
    this.#known = new Map();
  }

  revoked(keyId: string): void {
    this.#revokeHere(keyId);
    if (this.#isAlone) return;
    this.#kit
      .use(services.volatile)
      .announce(revokedTopic, keyId)
      .catch((error: unknown) => this.#kit.log.warn('a deleted API key could not be announced', { error }));
  }

  async stop(): Promise<void> {
    await Promise.all([this.#use.stop(), ...this.#stops.map((stop) => stop())]);
  }

  /** Keys are deleted on other nodes too. */
  #hearOfOthers(): void {
    const { clock, log } = this.#kit;
    this.#stops.push(
      this.#kit
        .use(services.volatile)
        .listen(revokedTopic, (keyId) => typeof keyId === 'string' && this.#revokeHere(keyId)),
      regularly(lookAgainInterval, {
        ...{ clock, work: (signal) => this.#lookAtAll(signal) },
        failed: (error) => log.warn('API keys could not be looked up again', { error }),
      }),
    );
  }

  async #find(hash: string): Promise<Principal | undefined> {
    const before = this.#known;
    const row = await this.#kit.resources.find('api-token', 'hash', hash);
    if (!row) return undefined;
    const { account, id, name, access, expiresAt, lastUsedAt } = documentOf(row);
    this.#use.found(id, lastUsedAt);
    const principal = {
      ...{ accountId: account, isAdmin: account === this.#admin.accountId, keyId: id, keyName: name, access },
      expiresAt,
    };
    // Not into the map of now: this key may have been deleted since it was read.
    if (this.#isAlone && before.size < maxKnown) before.set(hash, principal);
    return principal;
  }

  #revokeHere(keyId: string): void {
    for (const listener of [...this.#listeners].filter((one) => one.keyId === keyId)) {
      this.#listeners.delete(listener);
      listener.revoked();
    }
  }

  /** Another node may have deleted it. */
  async #lookAgain(keyId: string): Promise<TokenDocument | undefined> {
    try {
      const row = await this.#kit.resources.get('api-token', keyId);
      if (row) return documentOf(row);
      this.#revokeHere(keyId);
    } catch (error) {
      this.#kit.log.warn('an API key could not be looked up again', { error });
    }
    return undefined;
  }

  async #lookAtAll(signal: AbortSignal): Promise<void> {
    // One after the other: there may be a thousand, and it is not urgent.
    const keyIds = new Set([...this.#listeners].map(({ keyId }) => keyId));
    for (const keyId of keyIds) if (!signal.aborted) await this.#lookAgain(keyId);
  }
}

/** Keys in memory; further ones are read from the store each time. */
const maxKnown = 10_000;
/** How often a node checks whether the key of an open event stream was deleted on another node, ms; announcements may get lost. */
const lookAgainInterval = 5000;
/** Announces ids of deleted keys to all nodes. */
const revokedTopic = 'keys/revoked';
