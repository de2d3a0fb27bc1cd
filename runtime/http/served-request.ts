/** The connection that a request came by. */
export interface Origin {
  /** The client's address, without port; undefined when it has left. */
  readonly peer: string | undefined;
}

/** A request of a connection of ours. Its signal is made when it is asked for: few handlers do, and each would pay for it. */
export class ServedRequest extends Request {
  readonly origin: Origin;
  /** Silence does not end the connection (`core/holds.ts`). */
  isHeld = false;
  #abort: AbortController | undefined;
  #reason: Error | undefined;

  constructor(url: string, init: RequestInit, origin: Origin) {
    super(url, init);
    this.origin = origin;
  }

  /** Aborted when the client leaves before it has the whole answer. */
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
