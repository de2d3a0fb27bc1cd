import type { Socket } from 'node:net';
import type { Clock } from '../../../core/ports/clock.ts';
import type { OutboundLimits } from './limits.ts';

/** Receives what happens on a connection while it uses it. */
export interface ConnectionUser {
  data(bytes: Buffer): void;
  /** The peer sends no more, or the connection broke. Said once. */
  ended(): void;
  drained(): void;
}

/** One socket, used by one exchange after the other. What arrives while nobody uses it closes it. */
export class Connection {
  readonly address: string;
  /** When its address was last found to be allowed and to belong to its name, epoch ms. */
  checkedAt: number;
  /** Whether an exchange was carried before. */
  wasUsed = false;
  #user: ConnectionUser | undefined;
  #isOpen = true;
  #onClose: () => void = () => {};
  readonly #onGone: () => void;
  readonly #socket: Socket;

  constructor(socket: Socket, options: { address: string; checkedAt: number; onGone: () => void }) {
    this.#socket = socket;
    this.#onGone = options.onGone;
    this.address = options.address;
    this.checkedAt = options.checkedAt;
    socket.on('data', (bytes: Buffer) => (this.#user ? this.#user.data(bytes) : this.close()));
    socket.on('drain', () => this.#user?.drained());
    // An error is followed by close; without a listener it would end the process.
    socket.on('error', () => this.close());
    socket.on('end', () => this.#ended());
    socket.on('close', () => this.#ended());
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Sets the user. `onClose` is called when the connection closes meanwhile. */
  give(user: ConnectionUser | undefined, onClose: () => void = () => {}): void {
    this.#user = user;
    this.#onClose = onClose;
  }

  /** False when the peer has to read before more is written. */
  write(bytes: Uint8Array | string): boolean {
    return this.#isOpen && this.#socket.write(bytes);
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(): void {
    this.#ended();
  }

  #ended(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#socket.destroy();
    this.#user?.ended();
    this.#onClose();
    this.#onGone();
  }
}

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
