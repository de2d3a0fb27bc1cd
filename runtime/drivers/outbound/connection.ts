import type { Socket } from 'node:net';

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
