/**
 * Work outside the machines, handed to workers under a lease: at least once, and by one at a time as far as leases
 * can tell. A job enters and leaves with the commit of a step (`StepCommit.jobs`, `cancels`, `finish` in `store.ts`);
 * this port is what lies between. The store and the jobs of a deployment are drivers of one set, so either may rely
 * on the other.
 *
 * Who may have how many jobs at once (accounts, endpoints) is decided before a job is added, by an actor. A queue is
 * first come, first served.
 *
 * Inputs cross this port as JSON text. Times are epoch milliseconds of the caller: nodes that share jobs need clocks that
 * agree to within a few seconds.
 */
export interface Jobs {
  /**
   * Leases jobs of one kind that wait and whose time has come, or whose lease has ended: at most `limit` (1..1000),
   * by the time they became ready, then by the order in which they were added. Each counts one attempt more.
   */
  claim(kind: string, claim: JobClaim): Promise<Job[]>;

  /**
   * Moves the end of leases. Answers the ids that this owner does not hold any more (another has them, their lease may
   * have ended, the job is cancelled or finished): whoever works on one must stop.
   */
  beat(owner: string, leases: readonly JobLease[]): Promise<string[]>;

  /**
   * Puts a job back, to be claimed from `due` on. `lost`: another owner has it by now, or it is gone; nothing changed.
   * `isUncounted`: takes the attempt back, because it was not the work's fault.
   */
  release(owner: string, release: JobRelease): Promise<JobOutcome>;

  /** Removes a job whose result nobody waits for. A result that a step takes is `StepCommit.finish` instead. */
  finish(owner: string, id: string): Promise<JobOutcome>;

  /**
   * The first moment at which a job of one of these kinds can be claimed, which may be past: when it is due, or its lease ends,
   * whoever has it. Undefined when there is none.
   */
  next(kinds: readonly string[]): Promise<number | undefined>;

  /** The owners `<node>/…` that hold leases. */
  owners(node: string): Promise<JobOwner[]>;

  /**
   * Ends all leases of these owners: their jobs can be claimed from `now` on. Answers how many leases there were. Only for
   * owners whose process is known to be gone, and which were read before that was looked up.
   */
  free(owners: readonly JobOwner[], now: number): Promise<number>;

  /** Every kind that has jobs. Must not take longer with more jobs. */
  totals(): Promise<JobTotals[]>;

  /**
   * Calls `wake` when others may have added jobs or put them back. It may come too often, and in an outage not at all;
   * after one it comes. Returns the end of it.
   */
  subscribe(wake: () => void): () => void;
}

/** `<node>/<incarnation>`; the incarnation has no slash. */
export type JobOwner = string;

export interface JobClaim {
  readonly owner: JobOwner;
  readonly limit: number;
  readonly now: number;
  /** End of the leases. */
  readonly until: number;
}

export interface JobLease {
  readonly id: string;
  readonly until: number;
}

export interface JobRelease {
  readonly id: string;
  readonly due: number;
  readonly isUncounted?: boolean;
}

/** `lost`: the owner's lease is not in force any more; nothing was changed. */
export type JobOutcome = 'ok' | 'lost';

/** A job as a worker gets it. */
export interface Job {
  /** Effect id: `<cause>/<index>/<kind>`, so a driver may read the kind in it. The same in every attempt. */
  readonly id: string;
  readonly kind: string;
  /** `type/id` of the actor that waits for the result. */
  readonly actor: string;
  /** The invoke that it belongs to. */
  readonly child: string;
  /** JSON. */
  readonly input: string;
  readonly addedAt: number;
  /** 1 in the first attempt. Attempts whose worker died count. */
  readonly attempt: number;
}

/** A job as the commit of a step adds it. One whose id is there already is the same job, and is left as it is. */
export interface JobWrite {
  readonly id: string;
  readonly kind: string;
  readonly child: string;
  readonly input: string;
  /** Not before; a time that is past means now. */
  readonly due: number;
}

export interface JobTotals {
  readonly kind: string;
  /** Jobs that are not finished: waiting, put back, and being run. */
  readonly count: number;
  /** When the oldest of them was added. */
  readonly oldest: number;
}
