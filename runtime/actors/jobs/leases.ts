import type { Log } from '../../../core/base/log.ts';
import type { LostNode } from '../../../core/plugin/nodes.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Jobs } from '../../../core/ports/jobs.ts';
import { Alarm } from './alarm.ts';
import { jobRetry } from './kind.ts';

interface Lease {
  until: number;
  readonly length: number;
}

/**
 * Keeps the leases of running jobs alive: each is moved on when a third of it has passed, all that are due in one
 * write. A lease that another has is lost, and so is one whose end has come, whatever the outcome of the write:
 * from then on another may have the job.
 */
export class Leases {
  readonly #options: LeasesOptions;
  readonly #leases = new Map<string, Lease>();
  readonly #alarm: Alarm;
  #isBeating = false;
  #retryAt = 0;

  constructor(options: LeasesOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock, () => this.#look());
  }

  hold(id: string, lease: { until: number; length: number }): void {
    this.#leases.set(id, { ...lease });
    this.#arm();
  }

  drop(id: string): void {
    this.#leases.delete(id);
    if (this.#leases.size === 0) this.#alarm.clear();
  }

  stop(): void {
    this.#leases.clear();
    this.#alarm.clear();
  }

  #look(): void {
    const now = this.#options.clock.now();
    for (const [id, { until }] of [...this.#leases]) if (until <= now) this.#lose(id);
    const due = [...this.#leases].filter(([, lease]) => beatOf(lease) <= now);
    if (due.length > 0 && !this.#isBeating && this.#retryAt <= now) {
      this.#isBeating = true;
      void this.#beat(due.map(([id, { length }]) => ({ id, until: now + length }))).finally(() => {
        this.#isBeating = false;
        this.#arm();
      });
    }
    this.#arm();
  }

  async #beat(moved: { id: string; until: number }[]): Promise<void> {
    const { clock, jobs, owner, log } = this.#options;
    try {
      const lost = new Set(await jobs.beat(owner, moved));
      for (const { id, until } of moved) {
        const lease = this.#leases.get(id);
        if (lost.has(id)) this.#lose(id);
        else if (lease) lease.until = until;
      }
    } catch (error) {
      log.error('leases of jobs could not be renewed; trying again', { jobs: moved.length, error });
      this.#retryAt = clock.now() + jobRetry;
    }
  }

  #lose(id: string): void {
    if (this.#leases.delete(id)) this.#options.onLost(id);
  }

  #arm(): void {
    for (const lease of this.#leases.values()) {
      const beat = this.#isBeating ? lease.until : Math.max(beatOf(lease), this.#retryAt);
      this.#alarm.setFor(Math.min(beat, lease.until));
    }
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

/**
 * Ends the leases of processes that are gone, so that their jobs need not wait for the end of them. Leases of a process
 * that may live stay as they are. Answers how many were ended.
 */
export async function freeJobs(
  lost: LostNode,
  { jobs, clock, log }: { jobs: Pick<Jobs, 'owners' | 'free'>; clock: Clock; log: Log },
): Promise<number> {
  const owners = await jobs.owners(lost.id);
  if (owners.length === 0) return 0;
  // Read after the owners: a process that starts now is not among them.
  const lastSign = await lost.lastSigns();
  const gone = owners.filter((owner) => lastSign(owner.slice(lost.id.length + 1)) !== undefined);
  if (gone.length === 0) return 0;
  const freed = await jobs.free(gone, clock.now());
  log.info('jobs of a lost process are free again', { node: lost.id, jobs: freed });
  return freed;
}
