import { type AnyMachineSnapshot, createActor, initialTransition, transition } from 'xstate';
import type { ActorType, Emitted } from './actor.ts';
import type { TimerWrite } from './ports/store.ts';

/** What one step of a machine decided, as data. Nothing has happened yet. */
export interface Step {
  readonly snapshot: AnyMachineSnapshot;
  readonly emitted: readonly Emitted[];
  readonly timers: readonly TimerWrite[];
  /** The machine reached a final state. */
  readonly isDone: boolean;
}

type AnyActor = ActorType;

/** The first state of an actor. */
export function begin(type: AnyActor, input: unknown, at: number): Step {
  const [snapshot, actions] = initialTransition(type.machine, input as never);
  return collect(type, { snapshot, actions, at });
}

/**
 * One command or timer applied to a state. Pure: the same arguments give the same step.
 * `undefined`: the state does not handle the event, nothing would change.
 */
export function step(
  type: AnyActor,
  snapshot: AnyMachineSnapshot,
  event: { readonly type: string; readonly at: number },
): Step | undefined {
  if (!snapshot.can(event as never)) return undefined;
  const [next, actions] = transition(type.machine, snapshot as never, event as never);
  return collect(type, { snapshot: next as AnyMachineSnapshot, actions, at: event.at });
}

/** A snapshot as JSON text. */
export function freeze(type: AnyActor, snapshot: AnyMachineSnapshot): string {
  return JSON.stringify(type.machine.getPersistedSnapshot(snapshot as never));
}

/** A snapshot from JSON text of any known version. Throws when the machine cannot continue from it. */
export function thaw(type: AnyActor, stored: { state: string; version: number }): AnyMachineSnapshot {
  let plain: unknown = JSON.parse(stored.state);
  for (let version = stored.version; version < type.version; version += 1) {
    const migrate = type.migrate?.[version];
    if (!migrate) throw new Error(`${type.type}: no migration from version ${version}`);
    plain = migrate(plain);
  }
  if (stored.version > type.version) {
    throw new Error(`${type.type}: stored by a newer version (${stored.version}, this is ${type.version})`);
  }
  const snapshot = createActor(type.machine, {
    snapshot: plain as never,
  }).getSnapshot() as AnyMachineSnapshot;
  // A snapshot that names a state which is gone comes back as an error, silently.
  if (snapshot.status === 'error')
    throw new Error(`${type.type}: the stored state is unknown to the machine`);
  return snapshot;
}

function collect(
  type: AnyActor,
  result: {
    snapshot: AnyMachineSnapshot;
    actions: readonly { type: string; params?: unknown }[];
    at: number;
  },
): Step {
  const { snapshot, actions, at } = result;
  if (snapshot.status === 'error') {
    throw new Error(`${type.type}: the machine failed: ${String(snapshot.error)}`);
  }
  const emitted: Emitted[] = [];
  const timers = new Map<string, TimerWrite>();
  for (const action of actions) {
    if (action.type === 'xstate.emit') {
      emitted.push((action.params as { event: Emitted }).event);
    } else if (action.type === 'xstate.raise') {
      const { id, event, delay } = action.params as { id?: string; event: { type: string }; delay?: number };
      const name = id ?? event.type;
      // A deadline may be past already: it fires at once, as a step of its own, dated with its own time.
      timers.set(name, { name, due: at + Math.ceil(delay ?? 0) });
    } else if (action.type === 'xstate.cancel') {
      const { sendId } = action.params as { sendId: string };
      timers.set(sendId, { name: sendId, due: null });
    } else {
      throw new Error(`${type.type}: action ${action.type} is not allowed in a durable machine`);
    }
  }
  return { snapshot, emitted, timers: [...timers.values()], isDone: snapshot.status === 'done' };
}
