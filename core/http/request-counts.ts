import type { Counter, Histogram, Metrics } from '../base/metrics.ts';
import type { Clock } from '../ports/clock.ts';

/** Counts HTTP requests by the pattern of their route, never by their path: a client chooses that. */
export class RequestCounts {
  readonly #clock: Clock;
  readonly #make: (route: string, method: string) => Answers;
  readonly #routes = new Map<string, Map<string, Answers>>();

  constructor(options: { metrics: Metrics; clock: Clock }) {
    const { metrics } = options;
    this.#clock = options.clock;
    const requests = metrics.counter(
      'millrace_http_requests_total',
      'HTTP requests answered, by route, method and class of status.',
    );
    const durations = metrics.histogram('millrace_http_request_duration_seconds', {
      help: 'Time until an answer begins, in whole milliseconds; playlists and event streams wait on purpose.',
      buckets: [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    });
    this.#make = (route, method) => ({
      classes: classes.map((status) => requests.with({ route, method, status })),
      duration: durations.with({ route, method }),
    });
  }

  /** The moment, which `end` is to be given. */
  begin(): number {
    return this.#clock.now();
  }

  /** `route` is undefined for a path that no route has. */
  end(answer: { began: number; method: string; route: string | undefined; status: number }): void {
    const { began, route = 'none', status } = answer;
    const method = methods.has(answer.method) ? answer.method : 'other';
    let ofRoute = this.#routes.get(route);
    if (!ofRoute) {
      ofRoute = new Map();
      this.#routes.set(route, ofRoute);
    }
    let answers = ofRoute.get(method);
    if (!answers) {
      answers = this.#make(route, method);
      ofRoute.set(method, answers);
    }
    answers.classes[Math.floor(status / 100) - 1]?.add();
    answers.duration.observe((this.#clock.now() - began) / 1000);
  }
}

const classes = ['1xx', '2xx', '3xx', '4xx', '5xx'];
/** A client can send any word as a method. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

interface Answers {
  readonly classes: readonly Counter[];
  readonly duration: Histogram;
}
