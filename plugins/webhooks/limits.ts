/** Bounds of webhooks that no deployment changes. Times in ms, sizes in bytes of UTF-8; config.ts has the others. */
export const webhookLimits = {
  /** Names in `events`, as sent; beyond, 422. */
  eventNames: 100,
  /** Unknown names that a 422 repeats, and characters of each. */
  namedUnknown: { names: 5, length: 60 },
  /** Characters of `url`; beyond, 422. */
  url: 2000,
  /** Characters of `sharedSecret`, and the bytes that it must come to at least; else 422. */
  secret: { most: 500, least: 8 },
  /** How long a secret goes on signing after another took its place. */
  rotation: 24 * 3_600_000,
  /** Secrets of one webhook that sign at once; one more ends the oldest at once. */
  secrets: 4,
  /** Longest that deliveries are retried, whatever the config says: as long as the event log keeps their events. */
  retryFor: 24 * 3_600_000,
  /** Bytes of a body that the delivery log keeps; the rest is cut off. */
  loggedBody: 64 * 1024,
  /** Bytes of an answer that are read and logged; the rest is left. */
  loggedAnswer: 1024,
  /** Longest attempt of `test` and `resend`, whose caller waits. */
  manualTimeout: 20_000,
  /** A lane that was told to wait looks again after this, should nobody wake it. */
  hold: 60_000,
  /** Attempts that a lane makes in a row where others wait for the same webhook; then it waits for its next turn. */
  turn: 32,
  /** How long a place that a lane has left is kept for its next event, before one that waits gets it. */
  grace: 20,
  /** Events that a lane reads from the log at one go, which is one turn of the event loop. */
  refill: 100,
  /** Between two sweeps of the delivery log. */
  sweep: 10 * 60_000,
  /** Rows that are removed in one write. */
  sweepBatch: 200,
  /** How long the number of waiting retries, as metrics and the bound on them see it, may be old. */
  countAge: 10_000,
  /** Webhooks whose waiting retries are kept in mind; beyond, all are counted anew. */
  counted: 10_000,
  /** How often a change is tried while others change the same webhook; then 409. */
  changes: 5,
} as const;
