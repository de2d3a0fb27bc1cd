/**
 * Runs jobs of one kind as a node of its own until it is ended; prints `ready`, and then `<job> <attempt>` of each that
 * it begins.
 */
import type { Kit } from '../../../core/plugin/plugin.ts';
import { jobKind } from '../../../runtime/actors/jobs/kind.ts';
import { freeJobs } from '../../../runtime/actors/jobs/leases.ts';
import { JobWorkers } from '../../../runtime/actors/jobs/workers.ts';
import { systemClock } from '../../../runtime/drivers/clock/system.ts';
import { redisStore } from '../../../runtime/drivers/store/redis/index.ts';
import { silentLog } from '../../kit/silent-log.ts';
import type { ChildOptions } from './worker-process.ts';

const { url, namespace, node, kind, lease, work, concurrency } = JSON.parse(
  process.argv[2] as string,
) as ChildOptions;
const clock = systemClock();
const { jobs } = redisStore({ url, namespace, log: silentLog });
const effect = {
  ...{ concurrency, timeout: 3_600_000, lease, attempts: 100, backoff: { first: 1, most: 10 } },
  run: ({ id, attempt, signal }: { id: string; attempt: number; signal: AbortSignal }) =>
    new Promise<null>((resolve, reject) => {
      process.stdout.write(`${id} ${attempt}\n`);
      const timer = setTimeout(() => resolve(null), work);
      signal.addEventListener('abort', () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
    }),
};
const workers = new JobWorkers({
  ...{ jobs, clock, owner: `${node}/${process.pid}`, knows: () => true, log: silentLog },
  kinds: [jobKind(kind, { effect, config: {}, kit: () => ({}) as Kit }).kind],
  conclude: (job, { owner }) => jobs.finish(owner, job.id),
});
// Of its node it is the one process that lives.
const lastSigns = async () => (other: string) => (other === String(process.pid) ? undefined : 0);
await freeJobs({ id: node, lastSigns }, { jobs, clock, log: silentLog });
await workers.start();
process.stdout.write('ready\n');
