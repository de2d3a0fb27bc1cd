/** What the outbound client allows. Durations in milliseconds, sizes in bytes. */
export interface OutboundLimits {
  /** Requests under way at once. One more fails as `busy`. */
  readonly requests: number;
  /** Unused connections kept in all. One more closes the oldest. */
  readonly idleConnections: number;
  /** Unused connections kept to one origin. One more is closed. */
  readonly idlePerOrigin: number;
  /** How long an unused connection is kept. Shorter than the 5 s after which many servers close theirs. */
  readonly idleLife: number;
  /** A kept connection whose address was checked longer ago is used only if the name still stands for it. */
  readonly recheckAfter: number;
  /** Lookups of names at once. One more fails as `busy`. */
  readonly lookups: number;
  /** One lookup. Longer fails as `dns`. */
  readonly lookupTimeout: number;
  /** Addresses of one name that are tried, in the system's order; all are checked. */
  readonly addressesTried: number;
  /** Longest that one of several addresses is tried before the next one, within the time for connecting. */
  readonly addressTimeout: number;
  /** URL as given or redirected to. Longer fails as `bad-url`. */
  readonly urlLength: number;
  /** Headers of a request. More fails as `bad-request`. */
  readonly requestHeaders: number;
  /** Their names and values together. More fails as `bad-request`. */
  readonly requestHeaderBytes: number;
  /** Status lines and headers of one answer, with its 1xx answers. More fails as `protocol`. */
  readonly answerHeadBytes: number;
  /** Header lines of one answer. More fails as `protocol`. */
  readonly answerHeaders: number;
  /** 1xx answers before the final one. One more fails as `protocol`. */
  readonly interimAnswers: number;
  /** A chunk's size line with its extensions, and all trailers together. More fails as `protocol`. */
  readonly chunkLineBytes: number;
  /** What is read of an answer beyond `maxBytes` to keep its connection. More: the connection is closed. */
  readonly drainBytes: number;
  /** Longest that this reading takes. Longer: the connection is closed. */
  readonly drainTime: number;
  /** Received bytes of a stream that nobody has read yet; beyond it the peer has to wait. */
  readonly unreadBytes: number;
  /** Redirects that a caller may ask to be followed. */
  readonly redirects: number;
  /** Where a request says nothing. */
  readonly timeout: number;
  readonly idleTimeout: number;
  readonly connectTimeout: number;
  readonly maxBytes: number;
}

export const outboundLimits: OutboundLimits = {
  requests: 1_000,
  idleConnections: 256,
  idlePerOrigin: 16,
  idleLife: 4_000,
  recheckAfter: 10_000,
  lookups: 64,
  lookupTimeout: 5_000,
  addressesTried: 4,
  addressTimeout: 1_500,
  urlLength: 8_192,
  requestHeaders: 64,
  requestHeaderBytes: 16 * 1024,
  answerHeadBytes: 32 * 1024,
  answerHeaders: 128,
  interimAnswers: 8,
  chunkLineBytes: 4 * 1024,
  drainBytes: 64 * 1024,
  drainTime: 1_000,
  unreadBytes: 256 * 1024,
  redirects: 3,
  timeout: 10_000,
  idleTimeout: 10_000,
  connectTimeout: 5_000,
  maxBytes: 64 * 1024,
};
