import type { LoggedEvent } from '../ports/store.ts';

/** Kind of the rows of reactions that fail for long. The runtime writes them; `plugins/system` shows them. */
export const parkedReactionKind = 'reaction';

/** A reaction that has failed for longer than a moment, with its event: the log may forget that before somebody acts. */
export interface ParkedReaction {
  readonly id: string;
  /** Id of the plugin that reacts. */
  readonly plugin: string;
  /** `failing`: it is tried again, and the events of its stream wait. `parked`: neither. */
  readonly status: 'failing' | 'parked';
  readonly event: LoggedEvent;
  /** Of its first try, epoch ms. */
  readonly failedAt: number;
  /** Epoch ms; only of one that is parked. */
  readonly parkedAt?: number;
  readonly tries: number;
  /** Of the last try, shortened, without what looks like a secret. */
  readonly error: string;
}

/** Emitted to the admin account when a reaction is parked. */
export const reactionParked = 'plugin.reaction_parked';

/**
 * What the node that runs the reactions of a plugin must do with one that is parked: events of the account '', so that it
 * comes to that node whichever has it, and survives its end.
 */
export const reactionOrders = {
  resume: 'reaction.resume',
  forget: 'reaction.forget',
} as const;

/** Body of such an event. */
export interface ReactionOrder {
  readonly plugin: string;
  /** Of the row. */
  readonly reaction: string;
}
