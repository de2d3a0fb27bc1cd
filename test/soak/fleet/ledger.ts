/**
 * What clients asked for and what they were answered, kept outside of everything under test. What was acknowledged must
 * be there at the end; what nobody answered may be there or not.
 */
export class Ledger {
  readonly streams = new Map<string, StreamEntry>();
  readonly webhooks = new Map<string, Webhook>();
  /** Names of what was asked for; each may be there once at most, and once when it was acknowledged. */
  readonly names = new Map<string, 'asked' | 'made'>();
  readonly figures = {
    acknowledged: 0,
    attempts: 0,
    unknown: 0,
    /** Attempts that certainly did nothing: nobody listened, or 503 before anything was sent. */
    refused: 0,
    /** Answers by status, for attempts. */
    statuses: new Map<string, number>(),
    /** ms of every attempt that was answered well, and of those that were not. */
    answers: [] as number[],
    failures: [] as number[],
    withoutRetryAfter: 0,
    /** 404 for what was made, while a store that was rolled back catches up with the log. */
    notYet: 0,
  };
  /** Plain rows that were written in between (performance.now()) went with a rollback of the store. */
  plainUntil = Number.POSITIVE_INFINITY;
  plainFrom = Number.POSITIVE_INFINITY;
  /** Nodes that take broadcasts were killed: what they counted in the last 30 s is not stored. */
  hasMediaDied = false;
  /** The store was rolled back a little while ago: what is on the log may not be in it yet. */
  isCatchingUp = false;
  /** What must never happen, as it was seen. */
  readonly violations: string[] = [];
  /** Moments (performance.now()) of acknowledged steps, by partition. */
  readonly moments = new Map<number, number[]>();

  acknowledged(partition: number | undefined): void {
    this.figures.acknowledged += 1;
    if (partition === undefined) return;
    const own = this.moments.get(partition) ?? [];
    own.push(performance.now());
    this.moments.set(partition, own);
  }

  get wasRolledBack(): boolean {
    return this.plainUntil < Number.POSITIVE_INFINITY;
  }

  /** It may have gone with a rollback. */
  isLost(writtenAt: number): boolean {
    // An answer may come a little later than the write.
    return writtenAt > this.plainUntil - 1000 && writtenAt < this.plainFrom + 1000;
  }

  violation(what: string): void {
    this.violations.push(what);
    console.log(`VIOLATION ${what}`);
  }
}

export interface Webhook {
  readonly url: string;
  readonly madeAt: number;
  deletion: Deletion;
  deletedAt?: number;
}

export type Deletion = 'none' | 'asked' | 'done';

export interface StreamEntry {
  readonly name: string;
  /** The last counter that was acknowledged. */
  count: number;
  /** The last that was asked for. */
  asked: number;
  /** Counters of which an attempt was not answered: such a one may come later than what was asked after it. */
  readonly unknown: Set<number>;
  streamKey: string;
  readonly playbackId: string;
  deletion: Deletion;
  /** Nobody stops its broadcast. */
  isLeftAlone: boolean;
}
