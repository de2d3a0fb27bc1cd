import type { AnyStateMachine, ContextFrom, EventFromLogic, InputFrom, StateValueFrom } from 'xstate';
import type { ResourceWrite } from '../ports/store.ts';

/**
 * A kind of actor: an XState machine with an identity, run as a durable, pure decider.
 * Machines follow the rules in docs/actors-and-commits.md: no live effects, time arrives as `event.at`.
 */
export interface ActorType<M extends AnyStateMachine = AnyStateMachine, Tools = unknown> {
  readonly type: string;
  readonly machine: M;
  /** Grows with each change that stored snapshots cannot satisfy. */
  readonly version: number;
  /** `migrate[n]` turns the JSON snapshot of version n into one of n + 1. */
  readonly migrate?: Readonly<Record<number, (snapshot: unknown) => unknown>>;
  /**
   * The kinds of its rows, if it has any, and which ids they have; a step that writes another row fails. After a rollback of
   * the store these rows are written again, so a miss is not certain at once.
   */
  readonly kinds?: Readonly<Record<string, RowIds>>;
  /** The rows that this state is shown as; written in the same commit as the state. Pure: the same state, the same rows. */
  rows(context: ContextFrom<M>, state: StateValueFrom<M>): ResourceWrite[];
  /**
   * Turns what the machine emitted into an event for clients. Not called for orders. Pure: the step may be repeated
   * later and elsewhere, and its event has the same id then.
   */
  describe(emitted: Emitted, context: ContextFrom<M>, step: DescribedStep<Tools>): EventDescription;
}

/** `own`: each row has the id of its actor, so the id tells the partition that writes it. `any`: other ids too. */
export type RowIds = 'own' | 'any';

export interface DescribedStep<Tools> {
  /** When the step happened, epoch ms. */
  readonly at: number;
  readonly tools: Tools;
}

/** What a machine may `emit`: an event that the plugin declares, or an order (`order.*`) to a node. */
export interface Emitted {
  readonly type: string;
  readonly [name: string]: unknown;
}

export interface EventDescription {
  readonly account: string;
  /** Stream the event belongs to; empty when none. */
  readonly stream: string;
  /** `stream`, `payload`: what the body holds beside id, times and event name. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** What an actor is after a step, as plain data. */
export interface ActorView<M extends AnyStateMachine> {
  readonly value: StateValueFrom<M>;
  readonly context: ContextFrom<M>;
}

/** A command without its time: the host stamps `at` when it runs the step. */
export type CommandOf<M extends AnyStateMachine> =
  EventFromLogic<M> extends infer E ? (E extends { at: number } ? Omit<E, 'at'> : never) : never;

/** How plugins reach actors. */
export interface Actors {
  /**
   * Begins an actor. Repeating it with the same id is a Fault `actor.exists` (409).
   * Resolves when the first state is on disk. `cause`: as for `ask`; one that was consumed is `actor.exists` too.
   */
  spawn<M extends AnyStateMachine>(
    type: ActorType<M, never>,
    id: string,
    input: InputFrom<M>,
    options?: { cause?: string },
  ): Promise<ActorView<M>>;
  /**
   * Sends a command and resolves with the state after it, once that is on disk.
   * Faults: `actor.not_found` (404), `actor.not_possible` (409, nothing changed), `store.*` (503, unknown).
   * `cause`: makes a repeat of the same request recognisable; a repeat changes nothing.
   */
  ask<M extends AnyStateMachine>(
    type: ActorType<M, never>,
    id: string,
    command: CommandOf<M>,
    options?: { cause?: string },
  ): Promise<ActorView<M>>;
  /** The state as last committed, or undefined. */
  read<M extends AnyStateMachine>(type: ActorType<M, never>, id: string): Promise<ActorView<M> | undefined>;
}
