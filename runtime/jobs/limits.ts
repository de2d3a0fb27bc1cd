/** Bounds of jobs. Times in ms, sizes in bytes of UTF-8. */
export const jobLimits = {
  /** Input of a job as JSON; a step that asks for more is refused with `jobs.input_too_large`. */
  input: 256 * 1024,
  /** Output of an effect as JSON; beyond, the attempt has failed with `job.output_too_large`, for good. */
  output: 256 * 1024,
  /** Characters of an error that the machine is told; the rest is cut off. */
  errorMessage: 1000,
  /** Jobs that one claim takes; more come with the next one, at once. */
  claim: 100,
  /** What an effect may declare. Beyond, the start is refused. */
  concurrency: { least: 1, most: 1000 },
  attempts: { least: 1, most: 100 },
  lease: { least: 1000, most: 3_600_000 },
  timeout: { least: 1, most: 24 * 3_600_000 },
  queue: { least: 1, most: 10_000_000 },
  backoff: { least: 1, most: 24 * 3_600_000 },
  /**
   * How long an effect may take to end after its signal. Beyond, it is given up: logged, its slot is free, and the job
   * goes on as after any failed attempt, although the former attempt may still be at work.
   */
  abort: 5000,
  /** The same when the program stops; then the lease of the job is left to end by itself. */
  stop: 4000,
  /** Wait after a call to the queue or the store that failed. */
  retry: 1000,
  /** How often it is tried to write a result; then the job is put back for `absent`, and its work is done again. */
  resultTries: 5,
  /** A job that nobody here can give a result to (its plugin is off) is looked at again after this. */
  absent: 60_000,
} as const;

/** What an effect that does not say gets. */
export const effectDefaults = {
  lease: 30_000,
  attempts: 5,
  backoff: { first: 1000, most: 60_000 },
  queue: 100_000,
} as const;
