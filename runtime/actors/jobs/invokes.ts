import type { AnyStateMachine, AnyStateNode } from 'xstate';
import type { ActorType } from '../../../core/plugin/actor.ts';

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
