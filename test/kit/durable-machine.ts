import { begin, conclude, freeze, jobsOf, type Step, step, thaw, withJobs } from '../../core/plugin/step.ts';

type Type = Parameters<typeof begin>[0];

interface Place {
  readonly last: Step;
  readonly snapshot: Step['snapshot'];
  /** How many steps it took. */
  readonly count: number;
}

/**
 * An actor that is told things, without a host. The jobs that it asks for get a number each, and each state is written
 * and read as the store would: it must survive that.
 */
export function durableMachine(type: Type, options: { input: unknown; at: number }) {
  return machineAt(type, after(type, begin(type, options.input, options.at), 0));
}

function after(type: Type, step: Step, steps: number): Place {
  const count = steps + 1;
  const jobs = Object.fromEntries(step.wanted.map(({ child }) => [child, `job${count}`]));
  const frozen = freeze(type, withJobs(step.snapshot, { ...jobsOf(step.snapshot), ...jobs }));
  const snapshot = step.isDone ? step.snapshot : thaw(type, { state: frozen, version: 1 });
  return { last: step, snapshot, count };
}

function machineAt(type: Type, place: Place) {
  let { last, snapshot, count } = place;
  /** False: the state does not take it. */
  const move = (next: Step | undefined) => {
    if (next) ({ last, snapshot, count } = after(type, next, count));
    return next !== undefined;
  };
  return {
    tell: (event: Parameters<typeof step>[2]) => move(step(type, snapshot, event)),
    /** The first job that it waits for ends. */
    end(result: Parameters<typeof conclude>[2]['result'], at: number) {
      const [child = '', job = ''] = Object.entries(jobsOf(snapshot))[0] ?? [];
      return move(conclude(type, snapshot, { child, job, at, result }));
    },
    /** Another one at the same place, which goes its own way. */
    copy: () => machineAt(type, { last, snapshot, count }),
    get last() {
      return last;
    },
    get snapshot() {
      return snapshot;
    },
  };
}
