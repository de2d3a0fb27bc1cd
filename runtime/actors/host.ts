import type { AnyMachineSnapshot } from 'xstate';
import type { Actors, ActorType, ActorView, Emitted } from '../../core/actor.ts';
import { Fault } from '../../core/fault.ts';
import type { Log } from '../../core/log.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type {
  CommitOutcome,
  EventWrite,
  Lease,
  LoggedEvent,
  Order,
  StepCommit,
  Store,
} from '../../core/ports/store.ts';
import { begin, freeze, type Step, step, thaw } from '../../core/step.ts';
import { HotActors } from './hot.ts';
import { partitionOf } from './partition.ts';
import { TimerQueue } from './timers.ts';

/** Steps of one actor that lost a race are computed again this often before the caller is told. */
const maxConflicts = 5;

/**
 * Runs actors: one step at a time for each, every step one commit. Takes commands straight in and timers
 * from the store; hands committed events and orders on.
 */
export class ActorHost implements Actors {
  readonly #options: HostOptions;
  readonly #leases: Map<number, { epoch: number; counter: number }>;
  readonly #types: Map<string, RegisteredType>;
  readonly #hot: HotActors;
  readonly #timers: TimerQueue;
  /** The last queued work of each actor that has any: steps of one actor never overlap. */
  readonly #tails = new Map<string, Promise<unknown>>();
  #isStopped = false;

  constructor(options: HostOptions) {
    this.#options = options;
    this.#leases = new Map(
      options.leases.map(({ partition, epoch, counter }) => [partition, { epoch, counter }]),
    );
    this.#types = new Map(options.types.map((entry) => [entry.type.type, entry]));
    this.#hot = new HotActors(options.hotActors);
    this.#timers = new TimerQueue({ clock: options.clock, fire: (timer) => this.#fire(timer) });
  }

  /** Arms the timers that the store remembers; those that are past fire now. */
  async start(): Promise<void> {
    for (const timer of await this.#options.store.timers()) this.#timers.set(timer);
  }

  /** No timer fires and no new step begins; resolves when the steps in hand are committed. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timers.stop();
    await Promise.allSettled(this.#tails.values());
  }

  // biome-ignore lint/suspicious/noExplicitAny: the public types are those of the Actors interface
  spawn(type: ActorType<any, never>, id: string, input: unknown): Promise<any> {
    const actor = nameOf(type, id);
    return this.#queue(actor, async () => {
      const at = this.#options.clock.now();
      const first = begin(this.#registered(type).type, input, at);
      const outcome = await this.#commit({ actor, id, step: first, at, sequence: 0, cause: undefined });
      if (outcome.outcome !== 'ok') {
        throw new Fault('actor.exists', { status: 409, message: `${actor} exists already or has existed.` });
      }
      return view(first.snapshot);
    });
  }

  ask(
    // biome-ignore lint/suspicious/noExplicitAny: as above
    type: ActorType<any, never>,
    id: string,
    command: { readonly type: string },
    options: { cause?: string } = {},
    // biome-ignore lint/suspicious/noExplicitAny: as above
  ): Promise<any> {
    const actor = nameOf(type, id);
    return this.#queue(actor, async () => {
      for (let attempt = 0; attempt < maxConflicts; attempt += 1) {
        const at = this.#options.clock.now();
        const result = await this.#step(actor, id, { ...command, at }, options.cause);
        if (result) return view(result);
      }
      throw new Fault('store.busy', {
        status: 503,
        message: 'This changed too often at the same time; try again.',
        retryAfter: 1,
      });
    });
  }

  // biome-ignore lint/suspicious/noExplicitAny: as above
  async read(type: ActorType<any, never>, id: string): Promise<any> {
    const loaded = await this.#load(nameOf(type, id), this.#registered(type).type);
    return loaded && view(loaded.snapshot);
  }

  /** One attempt at a step. Undefined: the state had moved on, try again. */
  async #step(
    actor: string,
    id: string,
    event: { readonly type: string; readonly at: number },
    cause: string | undefined,
  ): Promise<AnyMachineSnapshot | undefined> {
    const { type } = this.#typeOf(actor);
    const loaded = await this.#load(actor, type);
    if (!loaded) throw new Fault('actor.not_found', { status: 404, message: `There is no ${actor}.` });
    const next = step(type, loaded.snapshot, event);
    if (!next) {
      // A repeat of what was done already: the state has moved on because of it.
      if (cause !== undefined && (await this.#options.store.isConsumed(cause))) return loaded.snapshot;
      throw new Fault('actor.not_possible', {
        status: 409,
        message: `${event.type} is not possible while it is ${JSON.stringify(loaded.snapshot.value)}.`,
      });
    }
    const { sequence } = loaded;
    const outcome = await this.#commit({ actor, id, step: next, at: event.at, sequence, cause });
    if (outcome.outcome === 'ok') return next.snapshot;
    this.#hot.drop(actor);
    if (outcome.outcome === 'conflict') return undefined;
    return (await this.#load(actor, type))?.snapshot ?? next.snapshot;
  }

  async #commit(options: {
    actor: string;
    id: string;
    step: Step;
    at: number;
    sequence: number;
    cause: string | undefined;
  }): Promise<CommitOutcome> {
    const { actor, at, sequence } = options;
    const entry = this.#typeOf(actor);
    const { snapshot, emitted, timers, isDone } = options.step;
    const partition = partitionOf(options.id, this.#leases.size);
    const lease = this.#lease(partition);
    const counter = options.cause === undefined ? ++lease.counter : undefined;
    const cause = options.cause ?? `d${partition}.${counter}`;
    const { events, orders } = effects(entry, { emitted, snapshot, cause, at });
    const commit: StepCommit = {
      partition,
      epoch: lease.epoch,
      actor,
      cause,
      at,
      sequence,
      state: isDone ? null : freeze(entry.type, snapshot),
      version: entry.type.version,
      rows: entry.type.rows(snapshot.context, snapshot.value),
      timers: isDone ? [] : timers,
      events,
      orders,
      ...(counter !== undefined && { counter }),
    };
    this.#options.probe?.('before commit', actor);
    const outcome = await this.#options.store.commit(commit).catch((error: unknown) => {
      // Whether it was written is unknown: the next step must read what the store holds.
      this.#hot.drop(actor);
      throw error;
    });
    this.#options.probe?.('after commit', actor);
    if (outcome.outcome === 'fenced') this.#options.onFenced(partition);
    if (outcome.outcome !== 'ok') return outcome;
    if (isDone) {
      this.#hot.drop(actor);
      this.#timers.forget(actor);
    } else {
      this.#hot.put(actor, { snapshot, sequence: sequence + 1 });
      for (const { name, due } of timers) this.#timers.set({ actor, name, due });
    }
    this.#options.probe?.('before effects', actor);
    for (const [index, event] of events.entries()) {
      this.#options.onEvent({ ...event, at, position: outcome.events[index] });
    }
    if (orders.length > 0) this.#options.onOrders(orders);
    return outcome;
  }

  async #load(
    actor: string,
    type: ActorType,
  ): Promise<{ snapshot: AnyMachineSnapshot; sequence: number } | undefined> {
    const hot = this.#hot.get(actor);
    if (hot) return hot;
    const stored = await this.#options.store.load(actor);
    if (!stored) return undefined;
    const loaded = { snapshot: thaw(type, stored), sequence: stored.sequence };
    this.#hot.put(actor, loaded);
    return loaded;
  }

  #fire(timer: { actor: string; name: string; due: number }): void {
    const { actor, name, due } = timer;
    const cause = `t${actor}#${name}@${due}`;
    const id = actor.slice(actor.indexOf('/') + 1);
    this.#queue(actor, async () => {
      for (let attempt = 0; attempt < maxConflicts; attempt += 1) {
        if (await this.#step(actor, id, { type: name, at: due }, cause)) return;
      }
    }).catch((error: unknown) => {
      // The state no longer waits for it: the cancel was on its way when the timer fired.
      if (error instanceof Fault && (error.status === 404 || error.status === 409)) return;
      this.#options.log.error('a timer could not be run; it is tried again', { actor, timer: name, error });
      const again = this.#options.clock.now() + 1000;
      this.#options.clock.at(again, () => !this.#isStopped && this.#fire(timer));
    });
  }

  #queue<T>(actor: string, work: () => Promise<T>): Promise<T> {
    if (this.#isStopped) {
      const stopping = { status: 503, message: 'The server is stopping.', retryAfter: 1 };
      return Promise.reject(new Fault('server.stopping', stopping));
    }
    const tail = this.#tails.get(actor);
    const run = tail === undefined ? work() : tail.then(work, work);
    this.#tails.set(actor, run);
    const clear = () => {
      if (this.#tails.get(actor) === run) this.#tails.delete(actor);
    };
    run.then(clear, clear);
    return run;
  }

  #lease(partition: number): { epoch: number; counter: number } {
    const lease = this.#leases.get(partition);
    if (!lease) throw new Error(`partition ${partition} is not owned here`);
    return lease;
  }

  #registered(type: { readonly type: string }): RegisteredType {
    const entry = this.#types.get(type.type);
    if (!entry) throw new Error(`actor type ${type.type} is not declared by an enabled plugin`);
    return entry;
  }

  #typeOf(actor: string): RegisteredType {
    return this.#registered({ type: actor.slice(0, actor.indexOf('/')) });
  }
}

export interface HostOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly leases: readonly Lease[];
  readonly types: readonly RegisteredType[];
  /** Restored snapshots kept in memory, at most this many. */
  readonly hotActors: number;
  onEvent(event: LoggedEvent): void;
  onOrders(orders: readonly Order[]): void;
  /** Another process owns the data now: this one must stop. */
  onFenced(partition: number): void;
  /** For crash tests: called at each point of a step; may throw to stop there. */
  readonly probe?: (point: 'before commit' | 'after commit' | 'before effects', actor: string) => void;
}

export interface RegisteredType {
  readonly type: ActorType;
  /** Given to the type's `describe`. */
  readonly tools: unknown;
}

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
    const { account, stream, body } = entry.type.describe(emitted, options.snapshot.context, entry.tools);
    const head = { id, createdAt: options.at, timestamp: options.at, event: emitted.type };
    events.push({ id, type: emitted.type, account, stream, body: JSON.stringify({ ...head, ...body }) });
  }
  return { events, orders };
}

function nameOf(type: { readonly type: string }, id: string): string {
  return `${type.type}/${id}`;
}

function view(snapshot: AnyMachineSnapshot): ActorView<never> {
  return { value: snapshot.value, context: snapshot.context } as ActorView<never>;
}
