import { Fault } from '../../../core/base/fault.ts';
import type { EffectError } from '../../../core/plugin/effect.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Job } from '../../../core/ports/jobs.ts';
import type { JobKind } from './kind.ts';

/** How long an effect may take to end after its signal, ms; then it is given up. */
const abortTimeout = 5000;
/** Characters of an error that the machine gets. */
const maxMessage = 1000;
/** Bytes of the output of an effect as JSON. */
const maxOutput = 262_144;

/** How one attempt ended. */
export type AttemptEnd =
  | { readonly output: unknown }
  /** `isFinal`: another attempt would end alike. `retryAfter`: ms before which none is of use, as the Fault says. */
  | {
      readonly error: EffectError;
      readonly isFinal: boolean;
      readonly isGivenUp: false;
      readonly retryAfter: number;
    }
  /** It still runs long after it was aborted; `ended` resolves when it ends. */
  | {
      readonly error: EffectError;
      readonly isFinal: false;
      readonly isGivenUp: true;
      readonly retryAfter?: undefined;
      readonly ended: Promise<unknown>;
    };

/**
 * Runs an effect once. Its signal is that of `abort`, which is also aborted when the time is up; an effect that does
 * not end soon after is given up. Never throws.
 */
export async function attempted(
  kind: JobKind,
  options: { job: Job; abort: AbortController; clock: Clock },
): Promise<AttemptEnd> {
  const { job, abort, clock } = options;
  const { signal } = abort;
  const { id, attempt, actor } = job;
  let cancel = clock.at(clock.now() + kind.timeout, () =>
    abort.abort(new Fault('job.timeout', { status: 504, message: `it took longer than ${kind.timeout} ms` })),
  );
  const work = async (): Promise<AttemptEnd> => {
    try {
      const input: unknown = JSON.parse(job.input);
      return { output: asStored(await kind.run({ id, attempt, input, actor, signal }, kind.kit())) };
    } catch (error) {
      const isFinal = error instanceof Fault && !error.retry;
      // What an aborted `fetch` throws says less than why it was aborted.
      const reason = signal.aborted && !isFinal ? signal.reason : error;
      const retryAfter = reason instanceof Fault ? (reason.retryAfter ?? 0) * 1000 : 0;
      return { error: errorOf(reason, attempt), isFinal, isGivenUp: false, retryAfter };
    }
  };
  const worked = work();
  let onAbort = () => {};
  const ignored = new Promise<AttemptEnd>((resolve) => {
    onAbort = () => {
      cancel();
      cancel = clock.at(clock.now() + abortTimeout, () =>
        resolve({
          ...{ error: errorOf(signal.reason, attempt), ended: worked },
          ...{ isFinal: false, isGivenUp: true },
        }),
      );
    };
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([worked, ignored]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    cancel();
  }
}

/** As the machine gets it. Never throws. */
export function errorOf(error: unknown, attempts: number): EffectError {
  return {
    code: error instanceof Fault ? error.code : 'job.failed',
    message: textOf(error).slice(0, maxMessage),
    attempts,
  };
}

function textOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return 'the thrown value has no text';
  }
}

/** What is left of an output as JSON. Another attempt would make the same mistake, so each is a Fault for good. */
function asStored(output: unknown): unknown {
  const refused = (code: string, message: string) => new Fault(code, { status: 500, message, retry: false });
  let text: string | undefined;
  try {
    text = JSON.stringify(output ?? null);
  } catch (error) {
    throw refused('job.output_invalid', `its output is not JSON: ${textOf(error)}`);
  }
  if (text === undefined) throw refused('job.output_invalid', `its output, a ${typeof output}, is no JSON`);
  if (Buffer.byteLength(text) > maxOutput) {
    throw refused('job.output_too_large', `its output is larger than ${maxOutput} bytes as JSON`);
  }
  return JSON.parse(text);
}
