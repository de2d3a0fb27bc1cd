import type { Jobs } from '../../../core/ports/jobs.ts';
import type { Halves } from './check.ts';

export interface Mutant {
  /** The check that is about its fault. */
  readonly breaks: string;
  readonly mutate: (driver: Halves) => Halves;
}

const withJobs = ({ store, jobs }: Halves, change: Partial<Jobs>): Halves => ({
  store,
  jobs: { ...jobs, ...change },
});

/**
 * Drivers with one fault each. The suite is worth something only if every one of them fails, in the very check that
 * is about its fault.
 */
export const mutants: Readonly<Record<string, Mutant>> = {
  'lets two have one job': {
    breaks: 'a claimed job is nobody else’s until its lease ends, and counts its attempts',
    mutate: (driver) =>
      withJobs(driver, {
        claim: (kind, claim) => driver.jobs.claim(kind, { ...claim, until: claim.now }),
      }),
  },
  'hands a job out before its time': {
    breaks: 'a claim gives what is ready of its kind, in the order of time and adding, as much as asked',
    mutate: (driver) =>
      withJobs(driver, {
        claim: (kind, claim) => driver.jobs.claim(kind, { ...claim, now: claim.now + 1 }),
      }),
  },
  'lets a former owner finish': {
    breaks: 'an owner whose lease another has can neither finish nor put back nor keep',
    mutate: ({ store, jobs }) => ({
      store: {
        ...store,
        async commit(step) {
          const outcome = await store.commit(step);
          if (outcome.outcome !== 'lost') return outcome;
          const { finish, ...rest } = step;
          return store.commit(rest);
        },
      },
      jobs,
    }),
  },
  'loses a job whose result could not be written': {
    breaks: 'a step finishes a job together with its own writes, or not at all',
    mutate: ({ store, jobs }) => ({
      store: {
        ...store,
        async commit(step) {
          const outcome = await store.commit(step);
          if (step.finish && outcome.outcome === 'conflict') {
            await jobs.finish(step.finish.owner, step.finish.id);
          }
          return outcome;
        },
      },
      jobs,
    }),
  },
  'forgets to cancel': {
    breaks: 'a cancelled job is gone for whoever has it, and only its own actor cancels it',
    mutate: ({ store, jobs }) => ({
      store: { ...store, commit: (step) => store.commit({ ...step, cancels: [] }) },
      jobs,
    }),
  },
  'counts no attempts': {
    breaks: 'a claimed job is nobody else’s until its lease ends, and counts its attempts',
    mutate: (driver) =>
      withJobs(driver, {
        claim: async (kind, claim) =>
          (await driver.jobs.claim(kind, claim)).map((job) => ({ ...job, attempt: 1 })),
      }),
  },
  'tells nobody that a lease is lost': {
    breaks: 'a beat keeps leases, and names those that are lost',
    mutate: (driver) =>
      withJobs(driver, { beat: async (owner, leases) => (await driver.jobs.beat(owner, leases)) && [] }),
  },
  'ends the leases of a node whichever process has them': {
    breaks: 'the leases of owners that are gone end at once, and those of no other',
    mutate: (driver) =>
      withJobs(driver, {
        async free(owners, now) {
          const nodes = owners.map((owner) => owner.slice(0, owner.lastIndexOf('/')));
          const all = await Promise.all(nodes.map((node) => driver.jobs.owners(node)));
          return driver.jobs.free(all.flat(), now);
        },
      }),
  },
};
