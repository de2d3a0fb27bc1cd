import { limitTable, valuesOf } from '../../../core/base/limit-table.ts';

const refused = 'The start is refused.';

/** Jobs and the effects that do them. */
export const jobLimitTable = limitTable('jobs', {
  input: {
    value: 256 * 1024,
    unit: 'bytes',
    meaning: 'Input of a job as JSON.',
    beyond: 'The step that asks for it is refused with `jobs.input_too_large`.',
  },
  output: {
    value: 256 * 1024,
    unit: 'bytes',
    meaning: 'Output of an effect as JSON.',
    beyond: 'The attempt has failed with `job.output_too_large`, for good.',
  },
  errorMessage: {
    value: 1000,
    unit: 'characters',
    meaning: 'An error that the machine is told.',
    beyond: 'The rest is cut off.',
  },
  claim: {
    value: 100,
    unit: 'jobs',
    meaning: 'Jobs that one claim takes.',
    beyond: 'More come with the next one, at once.',
  },
  retryAfter: {
    value: 3_600_000,
    unit: 'ms',
    meaning:
      'How long after a failed attempt the next one waits because the other side asks for it (`Retry-After`).',
    beyond: 'It comes then.',
  },
  concurrency: {
    value: 1000,
    unit: 'jobs',
    meaning: 'Jobs of one kind that a process runs at a time, as an effect may declare.',
    beyond: refused,
  },
  attempts: {
    value: 100,
    unit: 'attempts',
    meaning: 'Attempts that an effect may declare.',
    beyond: refused,
  },
  lease: {
    value: 3_600_000,
    unit: 'ms',
    meaning: 'Lease that an effect may declare, at least 1 s.',
    beyond: refused,
  },
  timeout: {
    value: 24 * 3_600_000,
    unit: 'ms',
    meaning: 'Time for one attempt that an effect may declare.',
    beyond: refused,
  },
  queue: {
    value: 10_000_000,
    unit: 'jobs',
    meaning: 'Unfinished jobs of one kind that an effect may declare.',
    beyond: refused,
  },
  backoff: {
    value: 24 * 3_600_000,
    unit: 'ms',
    meaning: 'Wait between attempts that an effect may declare.',
    beyond: refused,
  },
  abort: {
    value: 5000,
    unit: 'ms',
    meaning: 'How long an effect may take to end after its signal.',
    beyond:
      'It is given up: logged, its slot is free, and the job goes on as after any failed attempt, although the former may still be at work.',
  },
  stop: {
    value: 4000,
    unit: 'ms',
    meaning: 'The same when the program stops.',
    beyond: 'The lease of the job is left to end by itself.',
  },
  retry: {
    value: 1000,
    unit: 'ms',
    meaning: 'Wait after a call to the queue or the store that failed.',
    beyond: 'It is tried again.',
  },
  recount: {
    value: 5000,
    unit: 'ms',
    meaning:
      'How old the number of unfinished jobs may be that `queue` is held against where nodes share a queue.',
    beyond: 'They are counted again; until then some more than `queue` may be added.',
  },
  resultTries: {
    value: 5,
    unit: 'attempts',
    meaning: 'How often it is tried to write a result.',
    beyond: 'The job is put back for `absent`, and its work is done again.',
  },
  absent: {
    value: 60_000,
    unit: 'ms',
    meaning:
      'After how long a job is looked at again that nobody here can give a result to (its plugin is off).',
    beyond: 'It is looked at again.',
  },
  defaultLease: {
    value: 30_000,
    unit: 'ms',
    meaning: 'Lease of an effect that declares none.',
    beyond: 'Its worker was not heard of for so long: the job goes to another.',
  },
  defaultAttempts: {
    value: 5,
    unit: 'attempts',
    meaning: 'Attempts of an effect that declares none.',
    beyond: 'The machine is told of the failure.',
  },
  defaultBackoff: {
    value: 1000,
    unit: 'ms',
    meaning:
      'Wait before the second attempt of an effect that declares none; it doubles up to `defaultBackoffMost`.',
    beyond: 'The next attempt.',
  },
  defaultBackoffMost: {
    value: 60_000,
    unit: 'ms',
    meaning: 'Longest wait between attempts of such an effect.',
    beyond: 'It grows no further.',
  },
  defaultQueue: {
    value: 100_000,
    unit: 'jobs',
    meaning: 'Unfinished jobs of an effect that declares no number.',
    beyond: 'A step that would add one more is refused with 503 `jobs.full`.',
  },
});

const values = valuesOf(jobLimitTable);

/** Times in ms, sizes in bytes of UTF-8. What an effect may declare is a range. */
export const jobLimits = {
  ...values,
  concurrency: { least: 1, most: values.concurrency },
  attempts: { least: 1, most: values.attempts },
  lease: { least: 1000, most: values.lease },
  timeout: { least: 1, most: values.timeout },
  queue: { least: 1, most: values.queue },
  backoff: { least: 1, most: values.backoff },
};

/** What an effect that does not say gets. */
export const effectDefaults = {
  lease: values.defaultLease,
  attempts: values.defaultAttempts,
  backoff: { first: values.defaultBackoff, most: values.defaultBackoffMost },
  queue: values.defaultQueue,
};
