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

/** A request of a connection of ours. Its signal is aborted when the client leaves before it has the whole answer. */
export class ServedRequest extends Request {
  readonly origin: Origin;
  /** Silence does not end the connection (`core/http/hold.ts`). */
  isHeld = false;
  readonly #abort: AbortController;

  constructor({ url, ...head }: ServedHead, origin: Origin) {
    const abort = new AbortController();
    super(url, { ...head, signal: abort.signal });
    this.#abort = abort;
    this.origin = origin;
  }

  abort(reason: Error): void {
    this.#abort.abort(reason);
  }
}
