import type { Log } from '../../core/log.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Jobs } from '../../core/ports/jobs.ts';
import { jobLimits } from './limits.ts';

interface Lease {
  until: number;
  readonly length: number;
}

/**
 * Keeps the leases of running jobs alive: each is moved on when a third of it has passed, all that are due in one
 * write. A lease that could not be moved on in time is lost, as is one that somebody else has.
 */
export class Leases {
  readonly #options: LeasesOptions;
  readonly #leases = new Map<string, Lease>();
  #alarm: { at: number; cancel: () => void } | undefined;
  #isBeating = false;

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  hold(id: string, lease: { until: number; length: number }): void {
    this.#leases.set(id, { ...lease });
    this.#arm();
  }

  drop(id: string): void {
    this.#leases.delete(id);
    if (this.#leases.size === 0) this.stop();
  }

  stop(): void {
    this.#alarm?.cancel();
    this.#alarm = undefined;
  }

  async #beat(): Promise<void> {
    const { clock, jobs, owner, log } = this.#options;
    const now = clock.now();
    const due = [...this.#leases].filter(([, lease]) => beatOf(lease) <= now);
    const moved = due.map(([id, { length }]) => ({ id, until: now + length }));
    this.#isBeating = true;
    try {
      const lost = new Set(moved.length === 0 ? [] : await jobs.beat(owner, moved));
      for (const { id, until } of moved) {
        const lease = this.#leases.get(id);
        if (lost.has(id)) this.#lose(id);
        else if (lease) lease.until = until;
      }
    } catch (error) {
      log.error('leases of jobs could not be kept', { jobs: moved.length, error });
      const after = clock.now();
      for (const [id, { until }] of [...this.#leases]) if (until <= after) this.#lose(id);
      this.#isBeating = false;
      this.#arm(after + jobLimits.resultRetry.wait);
      return;
    }
    this.#isBeating = false;
    this.#arm();
  }

  #lose(id: string): void {
    if (this.#leases.delete(id)) this.#options.onLost(id);
  }

  #arm(notBefore = 0): void {
    if (this.#isBeating || this.#leases.size === 0) return;
    let at = Infinity;
    for (const lease of this.#leases.values()) at = Math.min(at, beatOf(lease));
    at = Math.max(at, notBefore);
    if (this.#alarm && this.#alarm.at <= at) return;
    this.#alarm?.cancel();
    const cancel = this.#options.clock.at(at, () => {
      this.#alarm = undefined;
      void this.#beat();
    });
    this.#alarm = { at, cancel };
  }
}

interface LeasesOptions {
  readonly jobs: Jobs;
  readonly owner: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Another may have this job from now on. */
  onLost(id: string): void;
}

/** When a third of it has passed. */
function beatOf({ until, length }: Lease): number {
  return until - Math.floor((length * 2) / 3);
}
