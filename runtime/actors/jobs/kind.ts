import type { AnyStateMachine, AnyStateNode } from 'xstate';
import type { ActorType } from '../../../core/plugin/actor.ts';
import type { AnyEffect, Kit } from '../../../core/plugin/plugin.ts';

/** Wait after a call to the queue or the store that failed, ms. */
export const jobRetry = 1000;
/** How long a job waits at most because the other side asks for it (`Retry-After`), ms. */
const maxRetryAfter = 3_600_000;
/** What an effect may declare: least and most. Times in ms. */
const declarable = {
  concurrency: [1, 1000],
  timeout: [1, 24 * 3_600_000],
  lease: [1000, 3_600_000],
  attempts: [1, 100],
  backoff: [1, 24 * 3_600_000],
  queue: [1, 10_000_000],
} as const;
/** What an effect that does not say gets. */
const defaults = { lease: 30_000, attempts: 5, backoff: { first: 1000, most: 60_000 }, queue: 100_000 };

/** A kind of job, as its plugin declares it and the deployment configures it. Times in ms. */
export interface JobKind {
  readonly kind: string;
  readonly concurrency: number;
  readonly timeout: number;
  readonly lease: number;
  readonly attempts: number;
  readonly backoff: { readonly first: number; readonly most: number };
  readonly queue: number;
  notBefore(input: unknown): number | undefined;
  run: AnyEffect['run'];
  /** Of the plugin that declares it. */
  readonly kit: () => Kit;
}

const name = /^[a-z][a-zA-Z0-9.-]{0,99}$/;

/** What an effect says, completed and checked: each problem names the effect and what was expected. */
export function jobKind(
  kind: string,
  options: { effect: AnyEffect; config: unknown; kit: () => Kit },
): { kind: JobKind; problems: string[] } {
  const { effect, kit } = options;
  const problems: string[] = [];
  const number = (key: keyof typeof declarable, given: unknown): number => {
    const [least, most] = declarable[key];
    if (!(Number.isInteger(given) && (given as number) >= least && (given as number) <= most)) {
      problems.push(`effect ${kind}: ${key} must be a whole number from ${least} to ${most}, not ${given}`);
    }
    return given as number;
  };
  const configured = (value: number | ((config: never) => number)) =>
    typeof value === 'function' ? value(options.config as never) : value;

  if (!name.test(kind)) problems.push(`effect ${kind}: its name must match ${name}`);
  const { first, most } = effect.backoff ?? defaults.backoff;
  const whole: JobKind = {
    kind,
    concurrency: number('concurrency', configured(effect.concurrency)),
    timeout: number('timeout', configured(effect.timeout)),
    lease: number('lease', effect.lease ?? defaults.lease),
    attempts: number('attempts', effect.attempts ?? defaults.attempts),
    backoff: { first: number('backoff', first), most: number('backoff', most) },
    queue: number('queue', effect.queue ?? defaults.queue),
    notBefore: (input) => effect.notBefore?.(input),
    run: effect.run,
    kit,
  };
  if (first > most) problems.push(`effect ${kind}: backoff.first must not be above backoff.most`);
  return { kind: whole, problems };
}

/**
 * Wait after a failed attempt, ms: doubling, and up to a quarter less by chance, so that jobs that failed together do
 * not come back together. The chance is drawn from the id: the same job waits the same time in every run of a test.
 * At least `retryAfter` ms, up to an hour: so long the other side wants to be left alone.
 */
export function backoffOf(
  { backoff }: Pick<JobKind, 'backoff'>,
  job: { readonly id: string; readonly attempt: number; readonly retryAfter?: number | undefined },
): number {
  const whole = Math.min(backoff.most, backoff.first * 2 ** Math.min(job.attempt - 1, 30));
  let hash = job.attempt;
  for (let index = 0; index < job.id.length; index += 1) {
    hash = (Math.imul(hash, 31) + job.id.charCodeAt(index)) >>> 0;
  }
  const asked = Math.min(job.retryAfter ?? 0, maxRetryAfter);
  return Math.max(Math.ceil(whole * (1 - (hash % 1000) / 4000)), asked);
}

/** What is wrong with the effects that a machine invokes; `effects` are the declared ones. */
export function invokeProblems(
  { type, machine }: Pick<ActorType, 'type' | 'machine'>,
  effects: ReadonlySet<string>,
): string[] {
  const known = new Set(Object.keys((machine as AnyStateMachine).implementations.actors));
  return invokesOf(machine.root).flatMap(({ id, src, hasError }) => {
    const who = `actor ${type} invokes ${src}`;
    const problems: string[] = [];
    // XState names logic that is given in place `xstate.invoke.<index>.<state>`.
    if (src.startsWith('xstate.invoke.')) return [`actor ${type}: ${id} must be invoked by name`];
    if (!known.has(src)) problems.push(`${who}, which its setup does not name, so it would have no input`);
    if (!effects.has(src)) problems.push(`${who}, an effect of no enabled plugin`);
    if (!hasError) problems.push(`${who} without an onError, and it may fail`);
    return problems;
  });
}

interface Invoke {
  readonly id: string;
  readonly src: string;
  readonly hasError: boolean;
}

function invokesOf(node: AnyStateNode): Invoke[] {
  const own = node.invoke.map(({ id, src, onError }) => ({
    id,
    src: String(src),
    hasError: onError !== undefined,
  }));
  return [...own, ...Object.values(node.states).flatMap((state) => invokesOf(state as AnyStateNode))];
}
