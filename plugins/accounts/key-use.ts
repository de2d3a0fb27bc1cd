import type { Principal } from '../../core/http/auth.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { documentOf, rowOf } from './token-document.ts';

/** How exactly it is kept when a key was used, ms: one write for each key and hour. */
const grain = 3_600_000;
/** Keys in memory whose hour is known; of others the row is read again. */
const maxKnown = 10_000;

/** Writes when API keys were last used, beside the requests: none waits for it, and what is not written comes with the next one. */
export class KeyUse {
  readonly #kit: Pick<Kit, 'clock' | 'log' | 'resources'>;
  /** Hour of the last use that is written or being written, by the id of the key. */
  readonly #hours = new Map<string, number>();
  readonly #writes = new Set<Promise<void>>();

  constructor(kit: Pick<Kit, 'clock' | 'log' | 'resources'>) {
    this.#kit = kit;
  }

  /** A row was read: another node may have written it. */
  found(keyId: string, lastUsedAt: number | undefined): void {
    const hour = lastUsedAt ?? 0;
    if (hour > (this.#hours.get(keyId) ?? -1)) this.#remember(keyId, hour);
  }

  /** A request came with this key. `hash`: of its secret, in hex. */
  note({ keyId }: Principal, hash: string): void {
    if (keyId === undefined) return;
    const hour = Math.floor(this.#kit.clock.now() / grain) * grain;
    if ((this.#hours.get(keyId) ?? -1) >= hour) return;
    this.#remember(keyId, hour);
    const write = this.#write(keyId, { hash, hour })
      .catch((error: unknown) => this.#kit.log.debug('the use of an API key could not be noted', { error }))
      .finally(() => this.#writes.delete(write));
    this.#writes.add(write);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#writes);
  }

  /** Where somebody else changes the row at the same time, or deletes it, nothing is written. */
  async #write(keyId: string, { hash, hour }: { hash: string; hour: number }): Promise<void> {
    const row = await this.#kit.resources.get('api-token', keyId);
    const document = row && documentOf(row);
    if (!document || (document.lastUsedAt ?? 0) >= hour) return;
    const used = rowOf({ ...document, lastUsedAt: hour }, { hash, revision: row.revision });
    await this.#kit.resources.write({ rows: [used], events: [] });
  }

  #remember(keyId: string, hour: number): void {
    if (this.#hours.size >= maxKnown && !this.#hours.has(keyId)) this.#hours.clear();
    this.#hours.set(keyId, hour);
  }
}
