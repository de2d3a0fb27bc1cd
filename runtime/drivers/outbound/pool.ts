import type { Clock } from '../../../core/ports/clock.ts';
import type { Connection } from './connection.ts';
import type { OutboundLimits } from './limits.ts';

/** Connections that wait for another request of the same owner to the same origin: that is their place. */
export class Pool {
  readonly #clock: Clock;
  readonly #limits: OutboundLimits;
  /** Oldest first, over all places. */
  readonly #kept = new Map<Connection, { place: string; cancel(): void }>();
  readonly #byPlace = new Map<string, Connection[]>();

  constructor(options: { clock: Clock; limits: OutboundLimits }) {
    this.#clock = options.clock;
    this.#limits = options.limits;
  }

  /** The one used last that `suits`; it is the caller's from now on. */
  take(place: string, suits: (connection: Connection) => boolean): Connection | undefined {
    const connection = this.#byPlace.get(place)?.findLast(suits);
    if (connection) this.#forget(connection);
    return connection;
  }

  keep(connection: Connection, place: string): void {
    if (!connection.isOpen) return;
    const same = this.#byPlace.get(place) ?? [];
    if (same.length >= this.#limits.idlePerPlace) {
      connection.close();
      return;
    }
    connection.wasUsed = true;
    // Takes effect before it is listed: bytes that nobody asked for close it.
    connection.give(undefined, () => this.#forget(connection));
    this.#byPlace.set(place, same);
    same.push(connection);
    const cancel = this.#clock.at(this.#clock.now() + this.#limits.idleLife, () => connection.close());
    this.#kept.set(connection, { place, cancel });
    if (this.#kept.size > this.#limits.idleConnections) this.#kept.keys().next().value?.close();
  }

  close(): void {
    for (const connection of [...this.#kept.keys()]) connection.close();
  }

  #forget(connection: Connection): void {
    const entry = this.#kept.get(connection);
    if (!entry) return;
    entry.cancel();
    this.#kept.delete(connection);
    connection.give(undefined);
    const left = (this.#byPlace.get(entry.place) ?? []).filter((one) => one !== connection);
    if (left.length > 0) this.#byPlace.set(entry.place, left);
    else this.#byPlace.delete(entry.place);
  }
}
