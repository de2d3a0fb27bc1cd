import type { Clock } from '../../../core/ports/clock.ts';
import type { OutboundFailure } from '../../../core/ports/outbound.ts';
import { failure } from './failure.ts';

/** One request from its start to its end: whatever ends it early is the reason of its signal. */
export interface Course {
  /** Its reason is an OutboundFailure. */
  readonly signal: AbortSignal;
  abort(why: OutboundFailure): void;
  /** It is over; nothing ends it any more. */
  end(): void;
}

export function course(options: {
  clock: Clock;
  /** ms; 0 is none. */
  timeout: number;
  /** The caller's. */
  signal: AbortSignal | undefined;
  origin: string;
}): Course {
  const { clock, timeout, signal, origin } = options;
  const own = new AbortController();
  const abort = (why: OutboundFailure) => {
    end();
    own.abort(why);
  };
  const onAbort = () => abort(failure('aborted', `the request to ${origin} was given up`));
  const cancel =
    timeout === 0
      ? () => {}
      : clock.at(clock.now() + timeout, () =>
          abort(failure('timeout', `${origin} did not answer completely within ${timeout} ms`)),
        );
  const end = () => {
    cancel();
    signal?.removeEventListener('abort', onAbort);
  };
  signal?.addEventListener('abort', onAbort);
  if (signal?.aborted) onAbort();
  return { signal: own.signal, abort, end };
}
