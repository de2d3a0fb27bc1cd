import type { Log } from '../../../core/base/log.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Job, Jobs } from '../../../core/ports/jobs.ts';
import { Alarm } from './alarm.ts';
import { jobRetry } from './kind.ts';
import type { Slots, SlotTable } from './slots.ts';

/** Jobs that one claim takes. */
const maxClaim = 100;

/**
 * Fills free slots with jobs. It looks when this process or the queue wakes it, and when the time of the next job or lease
 * has come.
 */
export class Claims {
  readonly #options: ClaimsOptions;
  readonly #alarm: Alarm;
  #looking: Promise<void> | undefined;
  #isWanted = false;
  #isOpen = false;
  #unsubscribe = () => {};

  constructor(options: ClaimsOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock, () => this.wake());
  }

  /** Whether jobs are taken: from `open` to `close`. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  open(): void {
    this.#isOpen = true;
    this.#unsubscribe = this.#options.jobs.subscribe(() => this.wake());
    this.wake();
  }

  /** Resolves when the last claim has been answered; what it got has begun. */
  async close(): Promise<void> {
    this.#isOpen = false;
    this.#unsubscribe();
    this.#alarm.clear();
    await this.#looking;
  }

  wake(): void {
    this.#isWanted = true;
    if (this.#looking || !this.#isOpen) return;
    this.#looking = this.#look()
      .catch((error: unknown) => {
        if (!this.#isOpen) return;
        const { clock, log } = this.#options;
        log.error('jobs could not be claimed; trying again', { error });
        this.#isWanted = false;
        this.wakeAt(clock.now() + jobRetry);
      })
      .finally(() => {
        this.#looking = undefined;
        if (this.#isWanted) this.wake();
      });
  }

  wakeAt(at: number): void {
    if (this.#isOpen) this.#alarm.setFor(at);
  }

  async #look(): Promise<void> {
    while (this.#isWanted && this.#isOpen) {
      this.#isWanted = false;
      await Promise.all(this.#served.map((one) => this.#fill(one)));
    }
    // Those that are behind wait for a slot, not for a time.
    const kinds = this.#served.filter(({ isBehind }) => !isBehind).map(({ kind }) => kind.kind);
    if (!this.#isOpen || kinds.length === 0) return;
    const next = await this.#options.jobs.next(kinds);
    if (next !== undefined) this.wakeAt(next);
  }

  get #served(): readonly Slots[] {
    const { slots, serves } = this.#options;
    return serves ? slots.all.filter(({ kind }) => serves(kind.kind)) : slots.all;
  }

  async #fill(slots: Slots): Promise<void> {
    const { kind } = slots;
    const limit = Math.min(kind.concurrency - slots.taken, maxClaim);
    if (limit <= 0) {
      slots.isBehind = true;
      return;
    }
    const { jobs, owner, clock, isRunning, begin } = this.#options;
    const now = clock.now();
    const until = now + kind.lease;
    slots.taken += limit;
    const claimed = await jobs.claim(kind.kind, { owner, limit, now, until }).finally(() => {
      slots.taken -= limit;
    });
    slots.isBehind = claimed.length === limit;
    if (slots.isBehind) this.#isWanted = true;
    const stillRunning = claimed.filter(({ id }) => isRunning(id));
    for (const job of claimed) {
      if (stillRunning.includes(job)) continue;
      slots.taken += 1;
      begin(slots, { job, until });
    }
    for (const { id } of stillRunning) {
      // Its lease ran out, and its run has not ended yet: it must not run twice at once.
      const due = now + jobRetry;
      await jobs.release(owner, { id, due, isUncounted: true });
      this.wakeAt(due);
    }
  }
}

interface ClaimsOptions {
  readonly slots: SlotTable;
  readonly jobs: Jobs;
  readonly owner: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether jobs of this kind are taken by this process; default: all. */
  serves?(kind: string): boolean;
  isRunning(id: string): boolean;
  /** Gets a job for a slot that was taken for it. */
  begin(slots: Slots, claimed: { job: Job; until: number }): void;
}
