import type { AnyMachineSnapshot } from 'xstate';
import { begin, conclude, type Step, step } from '../../core/plugin/step.ts';
import type { RegisteredType } from '../actors/actor-types.ts';
import { refusals } from '../actors/refusals.ts';
import { viewOf } from '../actors/step-commit.ts';
import { type Answer, faultData } from './answer.ts';
import type { ActorCommand } from './command.ts';

export interface ActorState {
  readonly snapshot: AnyMachineSnapshot;
  readonly sequence: number;
}

/** What a command leads to: a step that is to be stored, or an answer for which nothing changes. */
export type Decision =
  | { readonly answer: Answer }
  | {
      readonly step: Step;
      /** Of the state that it starts from; 0 where it begins the actor. */
      readonly sequence: number;
    };

/**
 * A command applied to an actor. The same arguments give the same decision, so that a log that is read again leads to
 * the same steps. `isRepeat`: its cause was consumed before.
 */
export function decision(
  { type }: RegisteredType,
  options: {
    readonly actor: string;
    readonly command: ActorCommand;
    readonly state: ActorState | null | undefined;
    readonly at: number;
    readonly isRepeat: boolean;
  },
): Decision {
  const { actor, command, state, at, isRepeat } = options;
  switch (command.type) {
    case 'spawn':
      // Null: it has ended, and its id is remembered.
      if (state !== undefined || isRepeat) return refused(refusals.exists(actor));
      return { step: begin(type, command.input, at), sequence: 0 };
    case 'ask': {
      if (!state) return refused(refusals.notFound(actor));
      if (isRepeat) return { answer: { view: viewOf(state.snapshot) } };
      const next = step(type, state.snapshot, { ...command.command, at });
      if (!next) return refused(refusals.notPossible(command.command.type, state.snapshot.value));
      return { step: next, sequence: state.sequence };
    }
    case 'result': {
      const { child, job, result } = command;
      const next = state && conclude(type, state.snapshot, { child, job, at, result });
      return next ? { step: next, sequence: state.sequence } : { answer: { outcome: 'stale' } };
    }
  }
}

function refused(fault: Parameters<typeof faultData>[0]): Decision {
  return { answer: { fault: faultData(fault) } };
}
