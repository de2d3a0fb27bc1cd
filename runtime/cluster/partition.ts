import { Fault } from '../../core/base/fault.ts';
import type { LogRange, LogRecord } from '../../core/ports/bus.ts';
import { idOf, partitionOf } from '../actors/actor-name.ts';
import { Deadlines } from './deadlines.ts';
import { Intake } from './intake.ts';
import { clusterLimits } from './limits.ts';
import type { Judge, PartitionParts, Trouble } from './parts.ts';
import { Relay } from './relay.ts';
import { Steps } from './steps.ts';

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
  readonly #deadlines: Deadlines;
  readonly #relay: Relay;
  /** Once it is taken over. */
  #own: Owned | undefined;
  #last: Promise<void> = Promise.resolve();
  /** Up to when the log is known, as long as that has not been dealt with. */
  #reached: number | undefined;
  #isFinishing = false;

  constructor(parts: PartitionParts, judge: Judge) {
    this.#parts = parts;
    this.#judge = judge;
    const { signal } = this.#over;
    this.#deadlines = new Deadlines(parts, { judge, signal });
    this.#relay = new Relay({ ...parts, signal, work: (jobs) => parts.work.committed(jobs) });
  }

  get timers(): number {
    return this.#deadlines.size;
  }

  get actors(): number {
    return this.#own?.steps.actors ?? 0;
  }

  get inFlight(): number {
    return this.#own?.steps.inFlight ?? 0;
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
    for (const timer of await store.timers([partition])) {
      const isOwn = partitionOf(idOf(timer.actor), partitions) === partition;
      if (isOwn && types.knows(timer.actor)) this.#deadlines.arm(timer);
    }
    signal.throwIfAborted();
    const onBroken = (trouble: Trouble) => this.#broken(trouble);
    const steps = new Steps({ ...this.#parts, epoch, offset, signal, relay: this.#relay, onBroken });
    const { deadlines, judge } = { deadlines: this.#deadlines, judge: this.#judge };
    const intake = new Intake({ parts: this.#parts, judge, steps, deadlines, signal });
    this.#own = { steps, intake, start: offset };
    this.#relay.start();
    // Those before it tell which of the next ones are copies.
    return Math.max(range.first, offset + 1 - clusterLimits.repeats);
  }

  /** Resolves when they are taken and on their way to the store; where this is over, when somebody has said so. */
  async records(records: readonly LogRecord[]): Promise<void> {
    await this.#serially(async ({ steps, intake, start }) => {
      const { clock } = this.#parts;
      const { prefetch } = clusterLimits;
      for (const record of records) if (record.offset <= start) intake.passed(record);
      const fresh = records.filter(({ offset }) => offset > start);
      for (let at = 0; at < fresh.length && !this.#isFinishing; at += prefetch) {
        const some = fresh.slice(at, at + prefetch);
        await intake.take(some, this.#isOver);
        // What comes after them on the log is not older.
        const newest = some.at(-1)?.at ?? 0;
        await this.#deadlines.runAll(Math.min(newest, clock.now()), { steps, isOver: this.#isOver });
      }
    });
    if (this.#isFinishing || this.#over.signal.aborted) await this.#gone.promise;
  }

  /** The log is read up to `at`: what is due by then fires. */
  reached(at: number): void {
    const isWaiting = this.#reached !== undefined;
    this.#reached = Math.max(this.#reached ?? at, at);
    if (isWaiting) return;
    void this.#serially(async ({ steps }) => {
      const until = this.#reached ?? at;
      this.#reached = undefined;
      if (this.#isFinishing) return;
      await this.#deadlines.runAll(until, { steps, isOver: this.#isOver });
      steps.consume();
    });
  }

  /** Takes nothing more. Resolves when what was taken is stored and handed on. */
  async finish(): Promise<void> {
    this.#isFinishing = true;
    await this.#serially(async ({ steps }) => steps.consume({ isOverdue: true }));
    await this.#own?.steps.idle();
    await this.#relay.idle();
  }

  /** It may be another node's. */
  drop(): void {
    this.#over.abort();
    this.#gone.resolve();
  }

  readonly #isOver = () => this.#isFinishing || this.#over.signal.aborted;

  /** One after the other. What goes wrong by a mistake of ours ends the partition; it is begun anew. */
  #serially(work: (own: Owned) => Promise<void>): Promise<void> {
    this.#last = this.#last.then(async () => {
      if (!this.#own || this.#over.signal.aborted) return;
      try {
        await work(this.#own);
      } catch (error) {
        this.#broken({ why: 'bug', error });
      }
    });
    return this.#last;
  }

  #broken(trouble: Trouble): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort();
    this.#judge.onBroken(trouble);
  }
}

interface Owned {
  readonly steps: Steps;
  readonly intake: Intake;
  /** Records up to this one were consumed before. */
  readonly start: number;
}

function misfit({ partition, offset, range }: { partition: number; offset: number; range: LogRange }): Fault {
  const { first, next } = range;
  return new Fault('partition.misfit', {
    status: 500,
    message: `partition ${partition} is consumed up to offset ${offset}, but its log has ${first} to ${next - 1}; it is not the log that the data comes from, or a part of it is missing`,
  });
}
