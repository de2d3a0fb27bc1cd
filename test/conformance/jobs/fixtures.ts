import type { JobWrite } from '../../../core/ports/jobs.ts';
import type { CommitOutcome, Lease, StepCommit, Store } from '../../../core/ports/store.ts';
import { start, step } from '../store/fixtures.ts';

export const kind = 'parcel.deliver';
export const own = 'node-1/a';
export const other = 'node-2/b';

export function job(id: string, parts: Partial<JobWrite> = {}): JobWrite {
  return { id, kind, child: 'delivery', input: `{"id":"${id}"}`, due: start, ...parts };
}

/** A claim that would get everything that is ready at `now`. */
export function claim(now: number, parts: { owner?: string; limit?: number; until?: number } = {}) {
  return { owner: own, limit: 100, now, until: now + 30_000, ...parts };
}

/** Commits steps of actors, each from where the last one left it. */
export async function steps(store: Store): Promise<Steps> {
  const [lease] = (await store.acquire(1)) as [Lease];
  return {
    async commit(parts, actor = 'a/1') {
      const sequence = (await store.load(actor))?.sequence ?? 0;
      return store.commit(step(lease, { actor, sequence, at: start, ...parts }));
    },
  };
}

export interface Steps {
  commit(parts: Partial<StepCommit>, actor?: string): Promise<CommitOutcome>;
}
