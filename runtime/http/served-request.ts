/**
 * A request of a connection of ours. Its signal is aborted when the client leaves before it has the whole answer; it is made when a
 * handler asks for it, because one for each request is a tenth of what a playlist costs.
 */
export class ServedRequest extends Request {
  /** Silence does not end the connection (`core/http/hold.ts`). */
  isHeld = false;
  readonly #connection: { readonly peer: string | undefined };
  #abort: AbortController | undefined;
  #reason: Error | undefined;

  constructor(url: string, init: RequestInit, connection: { readonly peer: string | undefined }) {
    super(url, init);
    this.#connection = connection;
  }

  /** The client's address, without port; undefined when it has left. */
  get peer(): string | undefined {
    return this.#connection.peer;
  }

  override get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.#reason) this.#abort.abort(this.#reason);
    }
    return this.#abort.signal;
  }

  abort(reason: Error): void {
    this.#reason = reason;
    this.#abort?.abort(reason);
  }
}
