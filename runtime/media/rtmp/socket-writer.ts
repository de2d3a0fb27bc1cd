/** The part of a Bun socket that sending needs. */
interface SendingSocket {
  write(bytes: Uint8Array): number;
  end(): unknown;
  terminate(): unknown;
}

/** Sends in order to a peer that may read slowly or not at all, and keeps no more than `limit` bytes for it. */
export class SocketWriter {
  readonly #socket: SendingSocket;
  readonly #limit: number;
  readonly #onStalled: () => void;
  #rest: Uint8Array | undefined;
  #isLate = false;
  #state: 'open' | 'ending' | 'ended' | 'closed' = 'open';

  /** @param options.onStalled called once when more than `limit` bytes wait; nothing is sent after that. */
  constructor(socket: SendingSocket, options: { limit: number; onStalled: () => void }) {
    this.#socket = socket;
    this.#limit = options.limit;
    this.#onStalled = options.onStalled;
  }

  write(bytes: Uint8Array): void {
    if (this.#state !== 'open') return;
    const rest = this.#rest;
    if (rest === undefined) {
      const sent = Math.max(0, this.#socket.write(bytes));
      if (sent < bytes.length) this.#keep(bytes.slice(sent));
    } else {
      const joined = new Uint8Array(rest.length + bytes.length);
      joined.set(rest);
      joined.set(bytes, rest.length);
      this.#keep(joined);
    }
  }

  /** The socket takes bytes again. */
  flush(): void {
    const rest = this.#rest;
    if (rest === undefined || this.#state === 'closed') return;
    const sent = Math.max(0, this.#socket.write(rest));
    this.#rest = sent < rest.length ? rest.subarray(sent) : undefined;
    if (this.#rest === undefined && this.#state === 'ending') this.#finish();
  }

  /** Closes the socket behind what was written. */
  end(): void {
    if (this.#state !== 'open') return;
    if (this.#rest === undefined) this.#finish();
    else this.#state = 'ending';
  }

  /** To be called now and then: cuts off a peer that has not answered `end` since the last time. */
  sweep(): void {
    if (this.#state === 'ended' || this.#state === 'ending') {
      if (this.#isLate) this.#socket.terminate();
      this.#isLate = true;
    }
  }

  /** The socket has closed. */
  close(): void {
    this.#state = 'closed';
    this.#rest = undefined;
  }

  #finish(): void {
    this.#state = 'ended';
    this.#socket.end();
  }

  #keep(rest: Uint8Array): void {
    this.#rest = rest;
    if (rest.length <= this.#limit) return;
    this.close();
    this.#onStalled();
  }
}
