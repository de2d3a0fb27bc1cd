import type { Clock } from '../../../core/ports/clock.ts';
import type { Connection } from './connection.ts';
import type { OutboundLimits } from './limits.ts';

/** Connections that wait for another request of the same owner to the same origin: that is their place. */
export class Pool {
  readonly #clock: Clock;
  readonly #limits: OutboundLimits;
  /** Oldest first, over all places. */
  readonly #kept = new Map<Connection, { place: string; until: number }>();
  readonly #byPlace = new Map<string, Connection[]>();
  #cancelSweep: (() => void) | undefined;

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
    this.#kept.set(connection, { place, until: this.#clock.now() + this.#limits.idleLife });
    if (this.#kept.size > this.#limits.idleConnections) this.#kept.keys().next().value?.close();
    this.#sweepLater();
  }

  close(): void {
    for (const connection of [...this.#kept.keys()]) connection.close();
    this.#cancelSweep?.();
    this.#cancelSweep = undefined;
  }

  #forget(connection: Connection): void {
    const entry = this.#kept.get(connection);
    if (!entry) return;
    this.#kept.delete(connection);
    connection.give(undefined);
    const left = (this.#byPlace.get(entry.place) ?? []).filter((one) => one !== connection);
    if (left.length > 0) this.#byPlace.set(entry.place, left);
    else this.#byPlace.delete(entry.place);
  }

  #sweepLater(): void {
    const first = this.#kept.values().next().value;
    if (this.#cancelSweep || !first) return;
    this.#cancelSweep = this.#clock.at(first.until, () => {
      this.#cancelSweep = undefined;
      const now = this.#clock.now();
      for (const [connection, { until }] of [...this.#kept]) if (until <= now) connection.close();
      this.#sweepLater();
    });
  }
}
