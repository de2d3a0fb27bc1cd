import { Fault } from '../../core/base/fault.ts';
import type { Log } from '../../core/base/log.ts';
import { type Step, step, thaw } from '../../core/plugin/step.ts';
import type { LogRecord } from '../../core/ports/bus.ts';
import type { BatchStep, LoadedActors } from '../../core/ports/store.ts';
import { idOf, partitionOf } from '../actors/actor-name.ts';
import type { ActorTypes, RegisteredType } from '../actors/actor-types.ts';
import type { HotActors } from '../actors/hot.ts';
import type { JobQueue } from '../actors/jobs/queue.ts';
import { stepCommit, timerCause, viewOf } from '../actors/step-commit.ts';
import type { StepCounts } from '../actors/step-counts.ts';
import { type Answer, type FaultData, faultData, mistake } from './answer.ts';
import { type ActorCommand, type AskedCommand, parsedCommand } from './command.ts';
import type { Deadlines } from './deadlines.ts';
import { type ActorState, decision } from './decision.ts';

/** What names a record or a timer that makes trouble: the offset, or `<actor>#<timer>@<due>`. */
export type Trouble = number | string;
/** What is answered to a command; or why it makes no sense, for whoever looks at what was buried. */
export type Verdict = Answer | { readonly problem: string };

/** What a partition is, and the node that computes its steps. */
export interface BatchParts {
  readonly partition: number;
  /** How many there are. */
  readonly partitions: number;
  readonly log: Log;
  readonly types: ActorTypes;
  readonly work: JobQueue;
  readonly counts?: StepCounts;
}

/** What a batch is computed from. */
export interface BatchContext {
  readonly parts: BatchParts;
  readonly hot: HotActors;
  readonly deadlines: Deadlines;
  /** What earlier attempts have shown of records and timers; timers that have one are left out. */
  readonly verdicts: ReadonlyMap<Trouble, Verdict>;
  /** What the records start from. */
  loadAll(actors: readonly string[], causes: readonly string[]): Promise<LoadedActors>;
  /** Puts a record where a person finds it. */
  bury(record: LogRecord, why: string): Promise<void>;
}

/**
 * What some records of a partition, and the timers that are due, come to: steps, answers and the states after them. Nothing
 * of it is in effect before its commit; computed again from the same stored data it comes to the same.
 */
export class Batch {
  readonly #context: BatchContext;
  readonly steps: BatchStep[] = [];
  /** Where each step comes from. */
  readonly troubles: Trouble[] = [];
  /** The actors it has to do with, as its steps leave them; null: ended. */
  readonly states = new Map<string, ActorState | null>();
  readonly answers: { readonly command: AskedCommand; readonly answer: Answer }[] = [];
  /** Of its steps, those that are remembered. */
  readonly #causes = new Set<string>();
  #loaded: LoadedActors = { actors: new Map(), consumed: new Set() };

  constructor(context: BatchContext) {
    this.#context = context;
  }

  /** Takes records in their order, each after the timers of its actor that were due before it, then timers of these actors. */
  async compute(
    records: readonly LogRecord[],
    due: { actors: readonly string[]; until: number },
  ): Promise<void> {
    const { hot, loadAll, bury } = this.#context;
    const read = records.map((record) => ({ record, command: parsedCommand(record.value) }));
    const actors = read.flatMap(({ record, command }) => ('replyTo' in command ? record.key : []));
    const causes = read.flatMap(({ command }) => ('cause' in command ? (command.cause ?? []) : []));
    const unknown = [...new Set([...actors, ...due.actors])].filter((actor) => !hot.get(actor));
    if (unknown.length + causes.length > 0) this.#loaded = await loadAll(unknown, causes);
    for (const { record, command } of read) {
      if ('problem' in command) await bury(record, command.problem);
      else if (command.type === 'mark') this.answers.push({ command, answer: { outcome: 'ok' } });
      else if (command.type !== 'tick') {
        const answer = await this.#taken(record, command);
        this.answers.push({ command, answer });
      }
    }
    for (const actor of due.actors) this.#runDueAnyhow(actor, due.until);
  }

  async #taken(record: LogRecord, command: ActorCommand): Promise<Answer> {
    const { verdicts, parts, bury } = this.#context;
    const { offset, key: actor } = record;
    const verdict = verdicts.get(offset);
    try {
      const known = verdict ?? this.#decided(record, command);
      if (!('problem' in known)) return known;
      await bury(record, known.problem);
    } catch (error) {
      parts.log.error('a command failed because of a bug', { actor, offset, error });
      await bury(record, String(error));
    }
    return { fault: mistake };
  }

  #decided(record: LogRecord, command: ActorCommand): Verdict {
    const { types, counts, partition, partitions } = this.#context.parts;
    const { key: actor, at, offset } = record;
    if (partitionOf(idOf(actor), partitions) !== partition)
      return { problem: 'its actor is of another partition' };
    const failure = types.failureOf(actor);
    if (failure) return { fault: faultData(failure) };
    // A node without the plugin cannot know what to do, and all of them are to have the same ones.
    if (!types.knows(actor)) return { problem: 'no enabled plugin has actors of this type' };
    const refusal = this.#runDueBefore(record, command);
    if (refusal) return { fault: refusal };
    const entry = types.of(actor);
    const { cause } = command;
    const isRepeat = cause !== undefined && (this.#causes.has(cause) || this.#loaded.consumed.has(cause));
    const decided = decision(entry, { actor, command, state: this.#state(actor, entry), at, isRepeat });
    if ('answer' in decided) {
      counts?.count(entry.type.type, isRepeat ? 'duplicate' : 'refused');
      return decided.answer;
    }
    const isResult = command.type === 'result';
    try {
      this.#put(entry, {
        ...{ ...decided, actor, at, trouble: offset, isLogged: cause === undefined, isResult },
        cause: cause ?? `m${partition}.${offset}`,
        ...(isResult && command.owner !== undefined && { finish: { id: command.job, owner: command.owner } }),
      });
    } catch (error) {
      // Its jobs cannot be taken.
      if (!(error instanceof Fault)) throw error;
      return { fault: faultData(error) };
    }
    return isResult ? { outcome: 'ok' } : { view: viewOf(decided.step.snapshot) };
  }

  /** Why the command cannot be taken, if it cannot: the queue of a timer's job is full. */
  #runDueBefore({ key: actor, at }: LogRecord, { type }: ActorCommand): FaultData | undefined {
    try {
      this.#runDue(actor, at);
    } catch (error) {
      // A timer that a bug keeps from running must not shut out commands as well, nor a full queue a job that leaves it.
      if (error instanceof Fault && type !== 'result') return faultData(error);
      this.#timerFailed(actor, { error, at });
    }
    return undefined;
  }

  #runDueAnyhow(actor: string, until: number): void {
    // Its plugin failed at the start of this process: the timers stay in the store.
    if (!this.#context.parts.types.knows(actor)) return;
    try {
      this.#runDue(actor, until);
    } catch (error) {
      this.#timerFailed(actor, { error, at: until });
    }
  }

  #runDue(actor: string, until: number): void {
    const { parts, deadlines, verdicts } = this.#context;
    for (let timer = deadlines.due(actor, until); timer; timer = deadlines.due(actor, until)) {
      const { name, due } = timer;
      const trouble = `${actor}#${name}@${due}`;
      const entry = parts.types.of(actor);
      const state = verdicts.has(trouble) ? undefined : this.#state(actor, entry);
      const next = state && step(entry.type, state.snapshot, { type: name, at: due });
      // Otherwise the actor is gone, or its state does not wait for this timer.
      if (next) {
        const { sequence } = state;
        const cause = timerCause(timer, sequence);
        this.#put(entry, { actor, step: next, at: due, sequence, trouble, cause });
      }
      deadlines.tries.passed(actor);
      deadlines.done(timer);
    }
  }

  #timerFailed(actor: string, { error, at }: { error: unknown; at: number }): void {
    const { parts, deadlines } = this.#context;
    const { log, partition } = parts;
    const { wait, tries, isTold } = deadlines.tries.failed(actor, error);
    if (isTold) log.error('a timer could not be run; it is tried again', { partition, actor, tries, error });
    deadlines.lookAt(actor, at + wait);
  }

  /** Null: it has ended. Undefined: it never was. */
  #state(actor: string, { type }: RegisteredType): ActorState | null | undefined {
    const known = this.states.get(actor);
    if (known !== undefined) return known;
    const stored = this.#loaded.actors.get(actor);
    const state =
      this.#context.hot.get(actor) ?? (stored && { snapshot: thaw(type, stored), sequence: stored.sequence });
    if (state !== undefined) this.states.set(actor, state);
    return state;
  }

  /** Throws a Fault when its jobs cannot be taken, and whatever composing it throws. */
  #put(entry: RegisteredType, planned: PlannedStep): void {
    const { parts, deadlines } = this.#context;
    const { actor, at, sequence, trouble, isLogged = false, isResult = false, finish } = planned;
    const { snapshot, wanted, commit } = stepCommit(entry, planned);
    const jobs = wanted.length === 0 ? [] : parts.work.prepare(wanted, { at, isResult });
    this.steps.push({ ...commit, jobs, isLogged, ...(finish && { finish }) });
    this.troubles.push(trouble);
    if (!isLogged) this.#causes.add(planned.cause);
    this.states.set(actor, planned.step.isDone ? null : { snapshot, sequence: sequence + 1 });
    if (planned.step.isDone) deadlines.forget(actor);
    else for (const { name, due } of commit.timers) deadlines.set({ actor, name, due });
  }
}

interface PlannedStep {
  readonly actor: string;
  readonly step: Step;
  readonly cause: string;
  readonly at: number;
  /** Of the state that it starts from. */
  readonly sequence: number;
  readonly trouble: Trouble;
  /** The record is its cause. */
  readonly isLogged?: boolean;
  readonly isResult?: boolean;
  /** The job whose result it takes. */
  readonly finish?: BatchStep['finish'];
}
