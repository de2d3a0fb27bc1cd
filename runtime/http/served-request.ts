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

/** A request of a connection of ours. Its signal and headers are made when they are asked for: few handlers do, and each would pay for it. */
export class ServedRequest extends Request {
  readonly origin: Origin;
  /** Silence does not end the connection (`core/http/hold.ts`). */
  isHeld = false;
  readonly #fields: Readonly<Record<string, string>>;
  #headers: Headers | undefined;
  #abort: AbortController | undefined;
  #reason: Error | undefined;

  /** @param head its `body`: what comes with it; without one its headers wait to be asked for */
  constructor(head: ServedHead, origin: Origin) {
    const { url, method, headers, body } = head;
    if (body === undefined) super(url, method === 'GET' ? undefined : { method });
    else super(url, { method, headers, body });
    this.#fields = headers;
    this.origin = origin;
  }

  override get headers(): Headers {
    this.#headers ??= new Headers(this.#fields);
    return this.#headers;
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
