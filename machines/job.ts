import { fromPromise, type NonReducibleUnknown, type PromiseActorLogic } from 'xstate';

/**
 * The type of an effect that a machine invokes: `setup({ actors: { 'webhook.attempt': job<Input, Output>() } })`.
 * The work itself is declared by a plugin under the same name, and done by a job. XState gives an `invoke` its
 * input only when the machine knows the name.
 */
export function job<Input extends NonReducibleUnknown, Output>(): PromiseActorLogic<Output, Input> {
  return fromPromise<Output, Input>(() =>
    Promise.reject(new Error('a durable machine does not run what it invokes')),
  );
}
