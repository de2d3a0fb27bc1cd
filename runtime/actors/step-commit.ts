import type { AnyMachineSnapshot } from 'xstate';
import type { ActorView, Emitted } from '../../core/plugin/actor.ts';
import { freeze, jobsOf, type Step, type Wanted, withJobs } from '../../core/plugin/step.ts';
import type { EventWrite, Order, StepCommit } from '../../core/ports/store.ts';
import { idOf } from './actor-name.ts';
import type { RegisteredType } from './actor-types.ts';

/**
 * What a step writes, on one node or several: the effect ids come from the cause alone, so a repeat of the step is
 * recognisable everywhere. Where it is written, and by which right, is the host's to add.
 */
export function stepCommit(
  entry: RegisteredType,
  options: StepPlace & { readonly step: Step },
): ComposedStep {
  const { actor, cause, at, sequence } = options;
  const { emitted, timers, wanted, cancels, isDone } = options.step;
  const { events, orders } = effects(entry, { emitted, snapshot: options.step.snapshot, cause, at });
  const named = wanted.map((one, index) => ({
    ...one,
    id: `${cause}/${emitted.length + index}/${one.kind}`,
  }));
  const snapshot = withJobs(options.step.snapshot, {
    ...jobsOf(options.step.snapshot),
    ...Object.fromEntries(named.map(({ child, id }) => [child, id])),
  });
  return {
    snapshot,
    wanted: named,
    commit: {
      actor,
      cause,
      at,
      sequence,
      state: isDone ? null : freeze(entry.type, snapshot),
      version: entry.type.version,
      rows: rowsOf(entry, { actor, snapshot }),
      timers: isDone ? [] : timers,
      events,
      orders,
      cancels,
    },
  };
}

interface StepPlace {
  readonly actor: string;
  readonly cause: string;
  readonly at: number;
  /** Of the state that the step starts from. */
  readonly sequence: number;
}

interface ComposedStep {
  /** The state after it, which knows its jobs by their ids. */
  readonly snapshot: AnyMachineSnapshot;
  /** The jobs that begin with it. */
  readonly wanted: readonly (Wanted & { readonly id: string })[];
  readonly commit: Omit<StepCommit, 'partition' | 'epoch' | 'counter' | 'consumed' | 'finish' | 'jobs'>;
}

/** Throws when the type writes what it does not declare: whoever misses such a row would not know that it may yet come. */
function rowsOf(
  { type }: RegisteredType,
  { actor, snapshot }: { actor: string; snapshot: AnyMachineSnapshot },
): StepCommit['rows'] {
  const rows = type.rows(snapshot.context, snapshot.value);
  for (const { kind, id } of rows) {
    const ids = type.kinds?.[kind];
    if (!ids) throw new Error(`actor type ${type.type} writes a row of ${kind}, which its kinds do not name`);
    if (ids === 'own' && id !== idOf(actor)) {
      throw new Error(
        `${actor} writes ${kind} ${id}, and the kinds of its type say that it has the actor's id`,
      );
    }
  }
  return rows;
}

/** A state as the caller sees it. */
export function viewOf(snapshot: AnyMachineSnapshot): ActorView<never> {
  return { value: snapshot.value, context: snapshot.context } as ActorView<never>;
}

/** Cause of a step by a timer. With the number of the step, because a deadline can be set to the same time twice. */
export function timerCause(
  { actor, name, due }: { actor: string; name: string; due: number },
  sequence: number,
): string {
  return `t${actor}#${name}@${due}.${sequence}`;
}

/** What a step emitted, as the store takes it: events for clients, orders for nodes. */
function effects(
  entry: RegisteredType,
  options: { emitted: readonly Emitted[]; snapshot: AnyMachineSnapshot; cause: string; at: number },
): { events: EventWrite[]; orders: Order[] } {
  const events: EventWrite[] = [];
  const orders: Order[] = [];
  for (const [index, emitted] of options.emitted.entries()) {
    const id = `${options.cause}/${index}/${emitted.type}`;
    if (emitted.type.startsWith('order.')) {
      orders.push({ id, type: emitted.type, body: JSON.stringify(emitted) });
      continue;
    }
    const { account, stream, body } = entry.type.describe(emitted, options.snapshot.context, {
      at: options.at,
      tools: entry.tools,
    });
    const head = { id, createdAt: options.at, timestamp: options.at, event: emitted.type };
    events.push({ id, type: emitted.type, account, stream, body: JSON.stringify({ ...head, ...body }) });
  }
  return { events, orders };
}
