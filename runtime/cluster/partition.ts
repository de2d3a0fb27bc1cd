import { Fault } from '../../core/fault.ts';
import type { LogRange, LogRecord } from '../../core/ports/bus.ts';
import { step, thaw } from '../../core/step.ts';
import { idOf } from '../actors/actor-name.ts';
import { partitionOf } from '../actors/partition.ts';
import { refusals } from '../actors/refusals.ts';
import { timerCause, viewOf } from '../actors/step-commit.ts';
import { type Timer, TimerQueue } from '../actors/timers.ts';
import { actorLimits } from '../limits.ts';
import { type Answer, type FaultData, faultData, mistake, unknownOutcome } from './answer.ts';
import { type Command, parsedCommand } from './command.ts';
import { decision } from './decision.ts';
import { KnownCommands } from './known-commands.ts';
import { clusterLimits } from './limits.ts';
import { LogTime } from './log-time.ts';
import type { PartitionParts } from './partition-parts.ts';
import { Relay } from './relay.ts';
import { isWorthTelling, retried } from './retried.ts';
import { Steps, type Trouble } from './steps.ts';

/**
 * One partition, while this node has it: takes the commands of its log in their order, and the timers of its actors in
 * between, each at its time. Whatever it cannot go on from ends it; then it is begun anew from what is stored.
 */
export class Partition {
  readonly #parts: PartitionParts;
  readonly #judge: Judge;
  /** Aborted when nothing more is to be done with what this knows. */
  readonly #over = new AbortController();
  readonly #gone = Promise.withResolvers<void>();
  readonly #time = new LogTime();
  readonly #timers: TimerQueue;
  readonly #due = new Set<string>();
  readonly #known = new KnownCommands(clusterLimits.repeats);
  readonly #relay: Relay;
  #steps: Steps | undefined;
  /** Records up to this one were consumed before. */
  #start = -1;
  #last: Promise<void> = Promise.resolve();
  /** Up to when the log is known, as long as that has not been dealt with. */
  #reached: number | undefined;
  #isFinishing = false;

  constructor(parts: PartitionParts, judge: Judge) {
    this.#parts = parts;
    this.#judge = judge;
    this.#timers = new TimerQueue({ clock: this.#time, fire: (actor) => this.#due.add(actor) });
    this.#relay = new Relay({
      ...parts,
      signal: this.#over.signal,
      work: (jobs) => parts.work.committed(jobs),
    });
  }

  get timers(): number {
    return this.#timers.size;
  }

  get actors(): number {
    return this.#steps?.actors ?? 0;
  }

  get inFlight(): number {
    return this.#steps?.inFlight ?? 0;
  }

  get backlog(): number {
    return this.#relay.size;
  }

  /** Takes it over. Resolves with the offset to read from. Faults: `store.*`, `partition.misfit`. */
  async open(range: LogRange): Promise<number> {
    const { store, partition, partitions, logId, types } = this.#parts;
    const { signal } = this.#over;
    const [lease] = await store.acquire(partitions, { partitions: [partition], log: logId });
    if (!lease) throw new Error(`the store gave no lease of partition ${partition}`);
    const { epoch, offset } = lease;
    if (offset + 1 < range.first || offset >= range.next) throw misfit({ partition, offset, range });
    signal.throwIfAborted();
    this.#start = offset;
    this.#steps = new Steps({
      ...this.#parts,
      ...{ epoch, offset, signal, relay: this.#relay },
      onBroken: (trouble) => this.#broken(trouble),
    });
    for (const timer of await store.timers([partition])) {
      const isOwn = partitionOf(idOf(timer.actor), partitions) === partition;
      if (isOwn && types.knows(timer.actor)) this.#timers.set(timer);
    }
    signal.throwIfAborted();
    this.#relay.start();
    // Those before it tell which of the next ones are copies.
    return Math.max(range.first, offset + 1 - clusterLimits.repeats);
  }

  /** Resolves when they are taken and on their way to the store; where this is over, when somebody has said so. */
  async records(records: readonly LogRecord[]): Promise<void> {
    await this.#serially(async (steps) => {
      const { prefetch } = clusterLimits;
      for (let at = 0; at < records.length && !this.#isFinishing; at += prefetch) {
        await this.#takeSome(records.slice(at, at + prefetch), steps);
      }
    });
    if (this.#isFinishing || this.#over.signal.aborted) await this.#gone.promise;
  }

  /** The log is read up to `at`: what is due by then fires. */
  reached(at: number): void {
    const isWaiting = this.#reached !== undefined;
    this.#reached = Math.max(this.#reached ?? at, at);
    if (isWaiting) return;
    void this.#serially(async (steps) => {
      const until = this.#reached ?? at;
      this.#reached = undefined;
      if (this.#isFinishing) return;
      await this.#fireDue(until, steps);
      steps.consume();
    });
  }

  /** Takes nothing more. Resolves when what was taken is stored and handed on. */
  async finish(): Promise<void> {
    this.#isFinishing = true;
    await this.#serially(async (steps) => steps.consume({ isOverdue: true }));
    await this.#steps?.idle();
    await this.#relay.idle();
  }

  /** It may be another node's. */
  drop(): void {
    this.#over.abort();
    this.#timers.stop();
    this.#gone.resolve();
  }

  /** One after the other. What goes wrong by a mistake of ours ends the partition; it is begun anew. */
  #serially(work: (steps: Steps) => Promise<void>): Promise<void> {
    this.#last = this.#last.then(async () => {
      if (!this.#steps || this.#over.signal.aborted) return;
      try {
        await work(this.#steps);
      } catch (error) {
        if (!this.#over.signal.aborted) this.#broken({ why: 'bug', error });
      }
    });
    return this.#last;
  }

  #broken(trouble: Trouble): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort();
    this.#timers.stop();
    this.#judge.onBroken(trouble);
  }

  async #takeSome(records: readonly LogRecord[], steps: Steps): Promise<void> {
    const { clock } = this.#parts;
    const read = records.map((record) => ({ record, command: parsedCommand(record.value) }));
    const fresh = read.filter(({ record }) => record.offset > this.#start);
    await steps.readAhead(
      fresh.map(({ record }) => record.key),
      fresh.flatMap(({ command }) => ('cause' in command ? (command.cause ?? []) : [])),
    );
    for (const { record, command } of read) {
      if (this.#isFinishing) return;
      if (record.offset > this.#start) await this.#take(record, { command, steps });
      else if (!('problem' in command)) this.#known.saw(command.id, record.offset);
    }
    const newest = fresh.at(-1)?.record.at;
    // What comes after it on the log is not older.
    if (newest !== undefined) await this.#fireDue(Math.min(newest, clock.now()), steps);
  }

  async #take(
    record: LogRecord,
    { command, steps }: { command: ReturnType<typeof parsedCommand>; steps: Steps },
  ): Promise<void> {
    const { partition, partitions, types } = this.#parts;
    const { offset, key: actor } = record;
    const { signal } = this.#over;
    if ('problem' in command) {
      await this.#bury(record, command.problem);
    } else {
      const isCopy = this.#known.isCopy(command.id, offset);
      this.#known.saw(command.id, offset);
      const verdict = this.#judge.verdict(offset);
      const isHome = partitionOf(idOf(actor), partitions) === partition;
      try {
        if (isCopy) await this.#answerCopy(record, { command, steps });
        else if (!isHome)
          await this.#refuse(record, { command, steps, why: 'its actor is of another partition' });
        // A node without the plugin cannot know what to do; all of them are to have the same ones.
        else if (!types.knows(actor))
          await this.#refuse(record, { command, steps, why: 'no enabled plugin has actors of this type' });
        else if (verdict?.code === mistake.code)
          await this.#refuse(record, { command, steps, why: 'it could not be stored' });
        else if (verdict) await this.#answer(command, { answer: { fault: verdict }, steps });
        else await this.#decide(record, { command, steps });
      } catch (error) {
        signal.throwIfAborted();
        this.#parts.log.error('a command failed by a mistake of ours; it is buried', {
          actor,
          offset,
          error,
        });
        await this.#refuse(record, { command, steps, why: String(error) });
      }
    }
    if (steps.seen < offset) steps.saw(offset);
  }

  async #decide(record: LogRecord, { command, steps }: { command: Command; steps: Steps }): Promise<void> {
    const { types, counts, partition } = this.#parts;
    const { key: actor, at, offset } = record;
    const entry = types.of(actor);
    const isResult = command.type === 'result';
    const answer = (given: Answer) => this.#answer(command, { answer: given, steps });
    try {
      await this.#runDue(actor, { until: at, steps });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      // A full queue must not keep a job from leaving it.
      if (!isResult) return answer({ fault: faultData(error) });
    }
    const state = await steps.state(actor, entry);
    const isRepeat = command.cause !== undefined && steps.isConsumed(command.cause);
    const decided = decision(entry, { actor, command, state, at, isRepeat });
    if ('answer' in decided) {
      counts?.count(entry.type.type, isRepeat ? 'duplicate' : 'refused');
      return answer(decided.answer);
    }
    const { snapshot } = decided.step;
    const given: Answer = isResult ? { outcome: 'ok' } : { view: viewOf(snapshot) };
    try {
      await steps.send(entry, {
        ...{ ...decided, actor, at, isResult, to: offset, trouble: offset },
        cause: command.cause ?? `m${partition}.${offset}`,
        isCause: command.cause === undefined,
        onSent: (sent) => {
          steps.saw(offset);
          this.#known.answered(command.id, given);
          this.#setTimers(actor, sent);
        },
        onStored: () => this.#tell(command, given),
        onRefused: (outcome) => {
          if (outcome === 'duplicate') void this.#tellRepeat(actor, command);
          // The id was used before: by an actor that has ended, which cannot be read.
          if (outcome === 'conflict' && command.type === 'spawn')
            this.#judge.condemn(offset, faultData(refusals.exists(actor)));
        },
      });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return answer({ fault: faultData(error) });
    }
  }

  /** Tells it when everything before is stored. */
  async #answer(command: Command, { answer, steps }: { answer: Answer; steps: Steps }): Promise<void> {
    this.#known.answered(command.id, answer);
    await steps.afterwards(() => this.#tell(command, answer));
  }

  /** Its cause was consumed after all, and its place on the log is passed: it will not come again. */
  async #tellRepeat(actor: string, command: Command): Promise<void> {
    const { store, types, log } = this.#parts;
    try {
      const stored = await store.load(actor);
      const isThere = stored && command.type === 'ask';
      const view = isThere && viewOf(thaw(types.of(actor).type, stored));
      this.#tell(command, view ? { view } : { fault: unknownOutcome });
    } catch (error) {
      log.warn('a repeated command could not be answered', { actor, error });
    }
  }

  async #answerCopy(
    { key: actor }: LogRecord,
    { command, steps }: { command: Command; steps: Steps },
  ): Promise<void> {
    const refusal = this.#known.refusalOf(command.id);
    const { types } = this.#parts;
    const state = refusal || !types.knows(actor) ? undefined : await steps.state(actor, types.of(actor));
    let answer: Answer = { fault: refusal ?? unknownOutcome };
    if (!refusal && command.type === 'result') answer = { outcome: 'ok' };
    else if (!refusal && state) answer = { view: viewOf(state.snapshot) };
    await steps.afterwards(() => this.#tell(command, answer));
  }

  async #refuse(
    record: LogRecord,
    { command, steps, why }: { command: Command; steps: Steps; why: string },
  ): Promise<void> {
    await this.#bury(record, why);
    await this.#answer(command, { answer: { fault: mistake }, steps });
  }

  /** Puts it where a person finds it. The partition goes on without it. */
  async #bury(record: LogRecord, why: string): Promise<void> {
    const { bus, clock, log, partition, onBuried } = this.#parts;
    const { offset, key } = record;
    const { signal } = this.#over;
    log.error('a command is buried', { partition, offset, key, why });
    await retried(() => bus.bury(record, why), {
      clock,
      signal,
      onFailure: (error, tries) => {
        if (isWorthTelling(tries))
          log.error('a command could not be buried; it is tried again', { partition, offset, error });
      },
    });
    signal.throwIfAborted();
    onBuried();
  }

  #tell({ id, replyTo }: Command, answer: Answer): void {
    this.#parts.mail.answer(replyTo, { id, answer });
  }

  #setTimers(
    actor: string,
    { timers, isDone }: { timers: readonly { name: string; due: number | null }[]; isDone: boolean },
  ): void {
    if (isDone) this.#timers.forget(actor);
    else for (const { name, due } of timers) this.#timers.set({ actor, name, due });
  }

  /** All timers that are due at `until`. */
  async #fireDue(until: number, steps: Steps): Promise<void> {
    const { log, partition, clock } = this.#parts;
    this.#time.reach(Math.min(until, clock.now()));
    const now = this.#time.now();
    while (this.#due.size > 0 && !this.#isFinishing) {
      const some = [...this.#due].slice(0, clusterLimits.prefetch);
      await steps.readAhead(some);
      for (const actor of some) {
        this.#due.delete(actor);
        try {
          await this.#runDue(actor, { until: now, steps });
        } catch (error) {
          this.#over.signal.throwIfAborted();
          log.error('a timer could not be run; it is tried again', { partition, actor, error });
          this.#timers.retry(actor, { now, at: now + actorLimits.timerRetry.value });
        }
      }
    }
  }

  /** Time goes in order: what fell due comes before whatever is done with the actor then. */
  async #runDue(actor: string, { until, steps }: { until: number; steps: Steps }): Promise<void> {
    for (let timer = this.#timers.due(actor, until); timer; timer = this.#timers.due(actor, until)) {
      const name = `${actor}#${timer.name}@${timer.due}`;
      if (!this.#judge.verdict(name)) await this.#runTimer(timer, { steps, trouble: name });
      this.#timers.done(timer);
    }
  }

  async #runTimer(timer: Timer, { steps, trouble }: { steps: Steps; trouble: string }): Promise<void> {
    const { actor, name, due } = timer;
    const entry = this.#parts.types.of(actor);
    const state = await steps.state(actor, entry);
    const next = state && step(entry.type, state.snapshot, { type: name, at: due });
    // The actor is gone, or its state does not wait for this timer.
    if (!next) return;
    const { sequence } = state;
    await steps.send(entry, {
      ...{ actor, step: next, at: due, sequence, trouble },
      cause: timerCause(timer, sequence),
      onSent: (sent) => this.#setTimers(actor, sent),
    });
  }
}

/** Remembers, beyond the end of a partition, what cannot be done with a record or a timer. */
export interface Judge {
  verdict(of: number | string): FaultData | undefined;
  condemn(one: number | string, verdict: FaultData): void;
  /** The partition cannot go on from where it stands. */
  onBroken(trouble: Trouble): void;
}

function misfit({ partition, offset, range }: { partition: number; offset: number; range: LogRange }): Fault {
  const { first, next } = range;
  return new Fault('partition.misfit', {
    status: 500,
    message: `partition ${partition} is consumed up to offset ${offset}, but its log has ${first} to ${next - 1}; it is not the log that the data comes from, or a part of it is missing`,
  });
}
