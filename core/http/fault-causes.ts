import type { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import type { Clock } from '../ports/clock.ts';

/** One line for each error code in so many ms: while the store is away every request meets the same failure. */
export const causeWindow = 10_000;
/** Characters; drivers put whole stacks into their messages. */
const maxCauseLength = 1000;
/** Causes of causes that are logged; errors may be the cause of each other. */
const maxDepth = 4;

/** Faults that an answer was made of, for as long as there is the answer. */
const answered = new WeakMap<Response, Fault>();

/** Notes the fault of an answer whose cause is to be logged. Returns the answer. */
export function madeOf(fault: Fault, answer: Response): Response {
  if (fault.status >= 500 && fault.cause !== undefined) answered.set(answer, fault);
  return answer;
}

/**
 * Logs the cause of 5xx answers, which the client does not see: one line per code in `causeWindow`, with the number of answers
 * that were not logged.
 */
export class FaultCauses {
  readonly #clock: Clock;
  readonly #log: Log;
  /** By code, of which there are as many as the program has. */
  readonly #logged = new Map<string, { at: number; unsaid: number }>();

  constructor(options: { clock: Clock; log: Log }) {
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** `route`: its pattern, for a path may hold what is secret. */
  tell(answer: Response, { method, route }: { method: string; route: string | undefined }): void {
    const fault = answered.get(answer);
    if (!fault) return;
    const now = this.#clock.now();
    const last = this.#logged.get(fault.code);
    if (last && now - last.at < causeWindow) {
      last.unsaid += 1;
      return;
    }
    this.#logged.set(fault.code, { at: now, unsaid: 0 });
    const { code, status, message } = fault;
    const cause = textOf(fault.cause).slice(0, maxCauseLength);
    this.#log.warn('a request could not be answered', {
      ...{ method, route, status, code, fault: message, cause },
      ...(last && last.unsaid > 0 && { unsaid: last.unsaid }),
    });
  }
}

/** An error and its causes in one line. A thrown value that is not an error may hold anything, so only its type is logged. */
function textOf(error: unknown, depth = 1): string {
  if (typeof error === 'string') return error;
  if (!(error instanceof Error)) return typeof error;
  if (depth > maxDepth) return error.name;
  // When all addresses of a name fail, the error has no message of its own.
  const { errors = [] } = error as { errors?: readonly unknown[] };
  const message = error.message || errors.map((one) => textOf(one, depth + 1)).join('; ');
  const because = error.cause === undefined ? '' : `, because of ${textOf(error.cause, depth + 1)}`;
  return `${error.name}: ${message}${because}`;
}
