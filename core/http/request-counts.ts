import type { Counter, Family, Histogram, Metrics } from '../base/metrics.ts';
import type { Clock } from '../ports/clock.ts';

/** Counts HTTP requests by the pattern of their route, never by their path: a client chooses that. */
export class RequestCounts {
  readonly #clock: Clock;
  readonly #requests: Family<Counter>;
  readonly #durations: Family<Histogram>;

  constructor({ metrics, clock }: { metrics: Metrics; clock: Clock }) {
    this.#clock = clock;
    this.#requests = metrics.counter(
      'millrace_http_requests_total',
      'HTTP requests answered, by route, method and class of status.',
    );
    this.#durations = metrics.histogram('millrace_http_request_duration_seconds', {
      help: 'Time until an answer begins, in whole milliseconds; blocked playlists and event streams wait on purpose.',
      buckets: [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    });
  }

  /** The moment, for `end`. */
  begin(): number {
    return this.#clock.now();
  }

  /** `route` is undefined for a path that no route has. */
  end(answer: { began: number; method: string; route: string | undefined; status: number }): void {
    const { began, route = 'none' } = answer;
    const method = methods.has(answer.method) ? answer.method : 'other';
    const status = `${Math.floor(answer.status / 100)}xx`;
    this.#requests.with({ route, method, status }).add();
    this.#durations.with({ route, method }).observe((this.#clock.now() - began) / 1000);
  }
}

/** A client can send any word as a method. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
