/** The same in every copy of this package. */
const brand = Symbol.for('millrace.fault');

/**
 * A failure that someone outside can act on. Everything else that is thrown is a bug and is answered
 * as `internal` without details.
 */
export class Fault extends Error {
  /** A Fault of another copy of this package, as a plugin of its own may bring along, is one too. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: of a class that extends it, which has no brand of its own
    if (this !== Fault) return Function.prototype[Symbol.hasInstance].call(this, value);
    return value !== null && typeof value === 'object' && brand in value;
  }

  get [brand](): true {
    return true;
  }

  /** Stable and documented: `stream.not_found`. */
  readonly code: string;
  /** HTTP status it is answered with. */
  readonly status: number;
  /** Every problem found, each naming the culprit and what was expected. */
  readonly problems: readonly string[];
  /** Seconds after which a repeat may succeed. */
  readonly retryAfter: number | undefined;
  /** False: a job that failed with it is not tried again. */
  readonly retry: boolean;

  constructor(
    code: string,
    options: {
      status: number;
      message: string | readonly string[];
      retryAfter?: number;
      retry?: boolean;
      cause?: unknown;
    },
  ) {
    const problems = typeof options.message === 'string' ? [options.message] : options.message;
    super(problems.join('; '), { cause: options.cause });
    this.name = 'Fault';
    this.code = code;
    this.status = options.status;
    this.problems = problems;
    this.retryAfter = options.retryAfter;
    this.retry = options.retry ?? true;
  }
}

/** Whether it is the Fault with this code. */
export function hasCode(error: unknown, code: string): error is Fault {
  return error instanceof Fault && error.code === code;
}

/** What was asked is not there, or not possible now (404, 409): an answer, and nothing was changed. */
export function isRefusal(error: unknown): boolean {
  return error instanceof Fault && (error.status === 404 || error.status === 409);
}

/** For a `catch` where what is shown beside an object is left out while the store is behind, for the object itself is there. */
export function unlessBehind(error: unknown): undefined {
  if (!hasCode(error, 'store.behind')) throw error;
  return undefined;
}

/** For a `catch` where a refusal is as good as done. */
export function unlessRefused(error: unknown): void {
  if (!isRefusal(error)) throw error;
}

/** For a `catch` of what makes an object, where it may be there already. */
export function unlessThere(error: unknown): void {
  if (!hasCode(error, 'actor.exists')) throw error;
}

/** Whether a command was carried out; false when it was refused. */
export async function isAccepted(asked: Promise<unknown>): Promise<boolean> {
  try {
    await asked;
    return true;
  } catch (error) {
    unlessRefused(error);
    return false;
  }
}
