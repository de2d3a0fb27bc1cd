import type { JobWrite } from '../../../core/ports/jobs.ts';
import type { CommitOutcome, Lease, StepCommit } from '../../../core/ports/store.ts';
import { step } from '../store/fixtures.ts';
import type { OpenedJobs } from './check.ts';

export const kind = 'parcel.deliver';
export const own = 'node-1/a';
export const other = 'node-2/b';

/** An effect id, which ends with its kind. */
export function idOf(name: string, of = kind): string {
  return `d0.1:${name}%/0/${of}`;
}
/** Those of the kind that most checks use. */
export const [j0, j1, j2, j3, j4, late, gone] = [
  ...['j0', 'j1', 'j2', 'j3', 'j4', 'late', 'gone'].map((name) => idOf(name)),
] as [string, string, string, string, string, string, string];

/** Commits steps of actors, each from where the last one left it. `start`: when the check begins. */
export async function begin({ store, time }: Pick<OpenedJobs, 'store' | 'time'>): Promise<Begun> {
  const start = time.now();
  const [lease] = (await store.acquire(1)) as [Lease];
  return {
    start,
    async commit(parts, actor = 'a/1') {
      const sequence = (await store.load(actor))?.sequence ?? 0;
      return store.commit(step(lease, { actor, sequence, at: start, ...parts }));
    },
    job: (id, parts) => ({
      ...{
        id,
        kind: id.slice(id.lastIndexOf('/') + 1),
        child: 'delivery',
        input: `{"id":"${id}"}`,
        due: start,
      },
      ...parts,
    }),
    claim: (parts = {}) => {
      const now = parts.now ?? time.now();
      return { owner: own, limit: 100, until: now + 30_000, ...parts, now };
    },
  };
}

export interface Begun {
  readonly start: number;
  commit(parts: Partial<StepCommit>, actor?: string): Promise<CommitOutcome>;
  job(id: string, parts?: Partial<JobWrite>): JobWrite;
  /** A claim that would get everything that is ready now. */
  claim(parts?: { now?: number; owner?: string; limit?: number; until?: number }): {
    owner: string;
    limit: number;
    now: number;
    until: number;
  };
}
