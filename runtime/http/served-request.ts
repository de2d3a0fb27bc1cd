/** The connection that a request came by. */
export interface Origin {
  /** The client's address, without port; undefined when it has left. */
  readonly peer: string | undefined;
}

export interface ServedHead {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: it has none. */
  readonly body: BodyInit | undefined;
}

/**
 * A request of a connection of ours. Its signal is aborted when the client leaves before it has the whole answer; it is made when a
 * handler asks for it, because one for each request is a tenth of what a playlist costs.
 */
export class ServedRequest extends Request {
  readonly origin: Origin;
  /** Silence does not end the connection (`core/http/hold.ts`). */
  isHeld = false;
  #abort: AbortController | undefined;
  #reason: Error | undefined;

  constructor({ url, ...head }: ServedHead, origin: Origin) {
    super(url, head);
    this.origin = origin;
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
