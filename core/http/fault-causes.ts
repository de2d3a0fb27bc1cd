import type { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import type { Clock } from '../ports/clock.ts';

/** One line for each error code in so many ms: while the store is away every request meets the same failure. */
export const causeWindow = 10_000;
/** Characters; drivers put whole stacks into their messages. */
const maxCauseLength = 1000;

/** Faults that an answer was made of, for as long as there is the answer. */
const answered = new WeakMap<Response, Fault>();

/** Notes what an answer was made of, where its log is to tell more than the answer does. Returns the answer. */
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
    this.#log.warn('a request could not be answered', {
      ...{ method, route, status, code, fault: message, cause: textOf(fault.cause) },
      ...(last && last.unsaid > 0 && { unsaid: last.unsaid }),
    });
  }
}

/** What was thrown and what that came of, in one line. Never throws. */
function textOf(cause: unknown): string {
  const words: string[] = [];
  for (let error = cause; error !== undefined && words.length < depth; ) {
    words.push(wordsOf(error));
    error = error instanceof Error ? error.cause : undefined;
  }
  return words.join(', because of ').slice(0, maxCauseLength);
}

/** A thrown value that is not an error may hold anything, so only its type is logged. */
function wordsOf(error: unknown, level = 1): string {
  if (typeof error === 'string') return error;
  if (!(error instanceof Error)) return typeof error;
  // What came of all addresses of a name has no words of its own.
  const { errors = [] } = error as { errors?: readonly unknown[] };
  const message = error.message || wordsOfAll(errors, level);
  return `${error.name}: ${message}`;
}

function wordsOfAll(errors: readonly unknown[], level: number): string {
  if (level === depth) return '';
  return errors
    .slice(0, depth)
    .map((error) => wordsOf(error, level + 1))
    .join('; ');
}

const depth = 4;
