/** Bounds that another client of this program, or a test, may set. Times in ms. */
export const outboundLimits = {
  /** Requests under way; further ones fail as `busy`. Config: `outbound.requests`. */
  requests: 1_000,
  /** Characters of a URL, as given or redirected to. */
  urlLength: 8_192,
  /** Unused connections that are kept in all; then the oldest is closed. */
  idleConnections: 256,
  /** Unused connections that are kept to one origin for one owner, such as an account. */
  idlePerPlace: 16,
  /** How long an unused connection is kept: less than the 5 s after which many servers close theirs. */
  idleLife: 4_000,
  /** How long the address of a kept connection counts as checked; then the name must still stand for it. */
  recheckAfter: 10_000,
  /** Lookups of names under way, with those whose callers have given up; further ones fail as `busy`. */
  lookups: 1_000,
  lookupTimeout: 5_000,
  /** Time for one of several addresses, within the time for connecting. */
  addressTimeout: 1_500,
  /** How long a peer that was asked whether it wants a body may take to say so; then it is sent. */
  continueTimeout: 1_000,
};

export type OutboundLimits = Readonly<typeof outboundLimits>;
