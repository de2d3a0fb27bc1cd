import type { Clock } from '../../../core/ports/clock.ts';
import type { Connection } from './connection.ts';
import type { OutboundLimits } from './limits.ts';

/** Connections that wait for another request to the same origin. */
export class Pool {
  readonly #clock: Clock;
  readonly #limits: OutboundLimits;
  /** Oldest first, over all origins. */
  readonly #kept = new Map<Connection, { origin: string; until: number }>();
  readonly #byOrigin = new Map<string, Connection[]>();
  #cancelSweep: (() => void) | undefined;

  constructor(options: { clock: Clock; limits: OutboundLimits }) {
    this.#clock = options.clock;
    this.#limits = options.limits;
  }

  /** The one used last that `suits`; it is the caller's from now on. */
  take(origin: string, suits: (connection: Connection) => boolean): Connection | undefined {
    const connection = this.#byOrigin.get(origin)?.findLast(suits);
    if (connection) this.#forget(connection);
    return connection;
  }

  keep(connection: Connection, origin: string): void {
    if (!connection.isOpen) return;
    const same = this.#byOrigin.get(origin) ?? [];
    if (same.length >= this.#limits.idlePerOrigin) {
      connection.close();
      return;
    }
    connection.wasUsed = true;
    // Takes effect before it is listed: bytes that nobody asked for close it.
    connection.give(undefined, () => this.#forget(connection));
    this.#byOrigin.set(origin, same);
    same.push(connection);
    this.#kept.set(connection, { origin, until: this.#clock.now() + this.#limits.idleLife });
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
    const left = (this.#byOrigin.get(entry.origin) ?? []).filter((one) => one !== connection);
    if (left.length > 0) this.#byOrigin.set(entry.origin, left);
    else this.#byOrigin.delete(entry.origin);
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
