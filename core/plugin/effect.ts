import type { Static, TObject } from '@sinclair/typebox';

/**
 * Work outside the machines: how one kind of job is done. A machine asks for it by name (`invoke: {src: kind}`) and
 * gets what `run` returns as `onDone`, or why it failed as `onError` (an `EffectError`).
 *
 * It is done at least once: a process may die after the work and before its result is stored, so `run` must be
 * harmless to repeat. Pass the `id`, which stays the same, to the other side.
 *
 * A throw is trouble on the way (a connection, a timeout): the job tries again by itself, and the machine hears of it
 * after the last attempt. `Fault` with `retry: false` ends it at once, one with `retryAfter` is not tried again before that, and `notNow` is no attempt at all. What the other side *answered*, also a refusal, is
 * an output: the machine decides what follows.
 */
export interface Effect<Input, Output, C extends TObject, Kit> {
  /** Jobs of this kind that one process runs at a time; more wait. A function gets the plugin's config. */
  readonly concurrency: number | ((config: Static<C>) => number);
  /**
   * Longest that one attempt may take, ms. Then its `signal` is aborted and the attempt has failed. A function gets
   * the plugin's config.
   */
  readonly timeout: number | ((config: Static<C>) => number);
  /** A job whose worker was not heard of for this long, ms, goes to another. Default 30 s, at least 1 s. */
  readonly lease?: number;
  /** Attempts before the machine gets the failure, 1..100. Default 5. */
  readonly attempts?: number;
  /** Wait before the second attempt, and the longest wait, ms; it doubles in between. Default 1 s and 60 s. */
  readonly backoff?: { readonly first: number; readonly most: number };
  /** Jobs of this kind that may be unfinished; a step that would add one more is refused with `jobs.full` (503). */
  readonly queue?: number;
  /** When the work may begin, epoch ms, if not at once. */
  readonly notBefore?: (input: Input) => number | undefined;
  readonly run: (job: Attempt<Input>, kit: Kit) => Promise<Output>;
}

/** One attempt at a job. */
export interface Attempt<Input = unknown> {
  /** The same in all attempts; what makes a repeat recognisable to others. */
  readonly id: string;
  /** 1 at first. */
  readonly attempt: number;
  readonly input: Input;
  /** `type/id` of the actor that asked for it. */
  readonly actor: string;
  /** Aborted when the result is not needed any more, when the time is up, or when the program stops. */
  readonly signal: AbortSignal;
}

/** The `error` of `xstate.error.actor.*`. */
export interface EffectError {
  /** That of the Fault, or `job.failed`. */
  readonly code: string;
  readonly message: string;
  /** How often it was tried. */
  readonly attempts: number;
}
