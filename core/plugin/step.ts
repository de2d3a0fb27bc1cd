import { type AnyMachineSnapshot, createActor, initialTransition, transition } from 'xstate';
import type { TimerWrite } from '../ports/store.ts';
import type { ActorType, Emitted } from './actor.ts';
import type { EffectError } from './effect.ts';

/** What one step of a machine decided, as data. Nothing has happened yet. */
export interface Step {
  readonly snapshot: AnyMachineSnapshot;
  readonly emitted: readonly Emitted[];
  readonly timers: readonly TimerWrite[];
  /** Work that begins. The snapshot has no job for it until `withJobs` names one. */
  readonly wanted: readonly Wanted[];
  /** Ids of jobs that the state does not wait for any more. */
  readonly cancels: readonly string[];
  /** The machine reached a final state. */
  readonly isDone: boolean;
}

/** An effect that a state invokes. */
export interface Wanted {
  /** Id of the invoke. */
  readonly child: string;
  readonly kind: string;
  readonly input: unknown;
}

/** How a job ended, for the machine. */
export type JobResult = { readonly output: unknown } | { readonly error: EffectError };

type AnyActor = ActorType;

/** The first state of an actor. */
export function begin(type: AnyActor, input: unknown, at: number): Step {
  const [snapshot, actions] = initialTransition(type.machine, input as never);
  return collect(type, { snapshot, actions, at, before: {} });
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
  return collect(type, {
    snapshot: next,
    actions,
    at: event.at,
    before: jobsOf(snapshot),
  });
}

/**
 * The result of a job, applied to a state. `undefined`: the state does not wait for this job (any more). A result
 * that the state has no way to take, as where `onDone` is guarded, is dropped: nothing but the waiting ends.
 */
export function conclude(
  type: AnyActor,
  snapshot: AnyMachineSnapshot,
  result: { readonly child: string; readonly job: string; readonly at: number; readonly result: JobResult },
): Step | undefined {
  const { child, job, at } = result;
  const { [child]: current, ...others } = jobsOf(snapshot);
  if (current !== job) return undefined;
  const waiting = withJobs(snapshot, others);
  const outcome = 'error' in result.result ? 'error' : 'done';
  const event = {
    type: `xstate.${outcome}.actor.${child}`,
    actorId: child,
    jobId: job,
    at,
    ...result.result,
  };
  return (
    step(type, waiting, event) ?? {
      ...{ snapshot: waiting, emitted: [], timers: [], wanted: [], cancels: [] },
      isDone: false,
    }
  );
}

/** The job of each invoke that the state waits for: child → job id. */
export function jobsOf(snapshot: AnyMachineSnapshot): Readonly<Record<string, string>> {
  const jobs: Record<string, string> = {};
  for (const [child, { job }] of Object.entries(snapshot.children as unknown as Children)) jobs[child] = job;
  return jobs;
}

/** The same state, waiting for these jobs. */
export function withJobs(
  snapshot: AnyMachineSnapshot,
  jobs: Readonly<Record<string, string>>,
): AnyMachineSnapshot {
  // XState looks a child up by its id when the state is left, and asks nothing else of it.
  const children: Children = {};
  for (const [id, job] of Object.entries(jobs)) children[id] = { id, job };
  return { ...snapshot, children: children as never };
}

type Children = Record<string, { readonly id: string; readonly job: string }>;

/** A snapshot as JSON text. */
export function freeze(type: AnyActor, snapshot: AnyMachineSnapshot): string {
  const plain = type.machine.getPersistedSnapshot({ ...snapshot, children: {} } as never) as object;
  return JSON.stringify({ ...plain, children: jobsOf(snapshot) });
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
  const { children: jobs = {}, ...state } = plain as { children?: Record<string, string> };
  const snapshot = createActor(type.machine, {
    snapshot: { ...state, children: {} } as never,
  }).getSnapshot() as AnyMachineSnapshot;
  // A snapshot that names a state which is gone comes back as an error, silently.
  if (snapshot.status === 'error')
    throw new Error(`${type.type}: the stored state is unknown to the machine`);
  return withJobs(snapshot, jobs);
}

interface Action {
  readonly type: string;
  readonly params?: unknown;
}

function collect(
  type: AnyActor,
  result: {
    snapshot: AnyMachineSnapshot;
    actions: readonly Action[];
    at: number;
    before: Readonly<Record<string, string>>;
  },
): Step {
  const { snapshot, actions, at, before } = result;
  if (snapshot.status === 'error') {
    throw new Error(`${type.type}: the machine failed: ${String(snapshot.error)}`);
  }
  const emitted: Emitted[] = [];
  const timers = new Map<string, TimerWrite>();
  const spawned = new Map<string, Wanted>();
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
    } else if (action.type === 'xstate.spawnChild') {
      const { id, src, input } = action.params as { id: string; src: unknown; input: unknown };
      // XState names logic that is given in place `xstate.invoke.<index>.<state>`.
      if (typeof src !== 'string' || src.startsWith('xstate.invoke.')) {
        throw new Error(`${type.type}: ${id} must be invoked by name`);
      }
      spawned.set(id, { child: id, kind: src, input });
    } else if (action.type !== 'xstate.stopChild') {
      throw new Error(`${type.type}: action ${action.type} is not allowed in a durable machine`);
    }
  }
  // What is still a child tells more than the actions: a state may be entered and left within one step, and XState
  // says that it stops a child also when that one has just ended. A machine that has ended waits for nothing.
  const isDone = snapshot.status === 'done';
  const isChild = (child: string) => !isDone && Object.hasOwn(snapshot.children, child);
  const kept: Record<string, string> = {};
  const cancels: string[] = [];
  for (const [child, job] of Object.entries(before)) {
    if (isChild(child) && !spawned.has(child)) kept[child] = job;
    else cancels.push(job);
  }
  return {
    snapshot: withJobs(snapshot, kept),
    emitted,
    timers: [...timers.values()],
    wanted: [...spawned.values()].filter(({ child }) => isChild(child)),
    cancels,
    isDone,
  };
}
