import { begin, conclude, freeze, jobsOf, type Step, step, thaw, withJobs } from '../../core/plugin/step.ts';

type Type = Parameters<typeof begin>[0];

/**
 * An actor that is told things, without a host. The jobs that it asks for get a number each, and each state is written
 * and read as the store would: it must survive that.
 */
export function durableMachine(type: Type, options: { input: unknown; at: number }) {
  let count = 0;
  let last: Step;
  let snapshot = take(begin(type, options.input, options.at));
  function take(one: Step) {
    last = one;
    count += 1;
    const jobs = Object.fromEntries(one.wanted.map(({ child }) => [child, `job${count}`]));
    const frozen = freeze(type, withJobs(one.snapshot, { ...jobsOf(one.snapshot), ...jobs }));
    return one.isDone ? one.snapshot : thaw(type, { state: frozen, version: 1 });
  }
  /** False: the state does not take it. */
  const move = (next: Step | undefined) => {
    if (next) snapshot = take(next);
    return next !== undefined;
  };
  return {
    tell: (event: Parameters<typeof step>[2]) => move(step(type, snapshot, event)),
    /** The first job that it waits for ends. */
    end(result: Parameters<typeof conclude>[2]['result'], at: number) {
      const [child = '', job = ''] = Object.entries(jobsOf(snapshot))[0] ?? [];
      return move(conclude(type, snapshot, { child, job, at, result }));
    },
    get last() {
      return last;
    },
    get snapshot() {
      return snapshot;
    },
  };
}
