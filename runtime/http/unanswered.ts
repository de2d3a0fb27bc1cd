import type { Log } from '../../core/base/log.ts';

/** How long a request still counts as under way that nobody waits for any more, ms: its route may never end. */
const countedFor = 60_000;
/** One line in the log in so many ms. */
const logInterval = 10_000;

/** A request whose route has not answered. */
export interface Unanswered {
  readonly method: string;
  readonly url: string;
  /** When it came, by `performance.now()`. */
  readonly since: number;
  isAnswered: boolean;
  /** It does not count as under way any more. */
  isGivenUp: boolean;
}

/**
 * Requests that lost their connection before their route answered. A route that hangs can neither be ended nor told from a slow
 * one; but it must not take a place of the concurrent requests for ever.
 */
export class UnansweredRequests {
  readonly #log: Log;
  readonly #left = new Set<Unanswered>();
  #loggedAt = Number.NEGATIVE_INFINITY;
  #unsaid = 0;

  constructor({ log }: { log: Log }) {
    this.#log = log;
  }

  /** Its connection was closed because no byte went over it for so long. */
  tell({ method, url, since }: Unanswered): void {
    const now = performance.now();
    if (now - this.#loggedAt < logInterval) {
      this.#unsaid += 1;
      return;
    }
    const seconds = Math.round((now - since) / 1000);
    const path = new URL(url).pathname;
    const unsaid = this.#unsaid > 0 && { unsaid: this.#unsaid };
    this.#log.error('a route does not answer; the connection was closed', {
      method,
      path,
      seconds,
      ...unsaid,
    });
    this.#loggedAt = now;
    this.#unsaid = 0;
  }

  /** The connection is gone. */
  add(request: Unanswered): void {
    this.#left.add(request);
  }

  /** Gives up what is too old; returns how many. */
  giveUp(now: number): number {
    let count = 0;
    for (const request of this.#left) {
      const isOld = now - request.since > countedFor;
      if (!request.isAnswered && !isOld) continue;
      this.#left.delete(request);
      if (request.isAnswered) continue;
      request.isGivenUp = true;
      count += 1;
    }
    return count;
  }
}
