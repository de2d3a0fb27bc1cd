import type { Job, JobOwner, Jobs } from '../../../../core/ports/jobs.ts';
import { checkLimit } from './reads.ts';
import type { StoreParts } from './scripts.ts';

/** Jobs of one claim. */
const maxClaim = 1000;
/** How often workers look for jobs that nobody told them of, ms: a message may get lost with its connection. */
export const lookInterval = 5000;

/** Jobs beside the steps that add and finish them, see `lua/jobs.lua`. `wake`: others may have added some. */
export function redisJobs({ link, scripts, key }: StoreParts): Jobs & { wake(): void } {
  const wakes = new Set<() => void>();
  const work = (what: string, ...values: readonly (string | number)[]) =>
    scripts.run('work', [what, ...values.map(String)], { isRead: what === 'next' || what === 'totals' });
  const outcome = async (answer: Promise<unknown>) => ((await answer) === 1 ? 'ok' : 'lost');

  return {
    async claim(kind, { owner, limit, now, until }) {
      checkLimit(limit, maxClaim);
      const claimed = (await work('claim', kind, owner, now, until, limit)) as [string, string, number][];
      return claimed.map(([id, stored, attempt]): Job => {
        const [, actor, child, input, addedAt] = JSON.parse(stored) as string[];
        return {
          ...{ id, kind, attempt, addedAt: Number(addedAt) },
          ...{ actor: actor ?? '', child: child ?? '', input: input ?? '' },
        };
      });
    },

    async beat(owner, leases) {
      if (leases.length === 0) return [];
      const moved = leases.flatMap(({ id, until }) => [id, until]);
      return (await work('beat', owner, leases.length, ...moved)) as string[];
    },

    release: (owner, { id, due, isUncounted = false }) =>
      outcome(work('release', owner, id, due, isUncounted ? '1' : '')),
    finish: (owner, id) => outcome(work('finish', owner, id)),

    async next(kinds) {
      const first = await work('next', kinds.length, ...kinds);
      return first === null ? undefined : Number(first);
    },

    async owners(node) {
      const owners = (await link.read(['HVALS', key('job-owners')])) as JobOwner[];
      return [...new Set(owners)].filter((owner) => owner.slice(0, owner.lastIndexOf('/')) === node);
    },

    free: async (owners, now) => (await work('free', now, owners.length, ...owners)) as number,

    async totals() {
      const totals = (await work('totals')) as [string, number, string][];
      return totals
        .map(([kind, count, oldest]) => ({ kind, count, oldest: Number(oldest) }))
        .sort((one, other) => (one.kind < other.kind ? -1 : 1));
    },

    subscribe(wake) {
      // Its own: the same function may be given twice.
      const own = () => wake();
      wakes.add(own);
      const end = link.listen(key('jobs-added'), own);
      const timer = setInterval(own, lookInterval);
      timer.unref();
      return () => {
        wakes.delete(own);
        clearInterval(timer);
        end();
      };
    },

    wake() {
      for (const wake of wakes) wake();
    },
  };
}
