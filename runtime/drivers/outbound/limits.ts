import { limitTable, valuesOf } from '../../../core/base/limit-table.ts';

/** What the outbound client allows. */
export const outboundLimitTable = limitTable('outbound', {
  requests: {
    value: 1_000,
    unit: 'requests',
    meaning: 'Requests under way at once.',
    beyond: 'Further ones fail as `busy` and are tried again later.',
    key: 'outbound.requests',
  },
  idleConnections: {
    value: 256,
    unit: 'connections',
    meaning: 'Unused connections kept in all.',
    beyond: 'The oldest is closed.',
  },
  idlePerPlace: {
    value: 16,
    unit: 'connections',
    meaning: 'Unused connections kept to one origin for one owner, such as an account.',
    beyond: 'Further ones are closed.',
  },
  idleLife: {
    value: 4_000,
    unit: 'ms',
    meaning:
      'How long an unused connection is kept. Shorter than the 5 s after which many servers close theirs.',
    beyond: 'It is closed.',
  },
  recheckAfter: {
    value: 10_000,
    unit: 'ms',
    meaning: 'How long the address of a kept connection counts as checked.',
    beyond: 'The connection is used only if the name still stands for that address.',
  },
  lookups: {
    value: 1_000,
    unit: 'lookups',
    meaning: 'Lookups of names at once, with those whose callers have given up.',
    beyond: 'Further ones fail as `busy`.',
  },
  lookupTimeout: {
    value: 5_000,
    unit: 'ms',
    meaning: 'One lookup of a name.',
    beyond: 'It fails as `dns`.',
  },
  addressesTried: {
    value: 4,
    unit: 'addresses',
    meaning: "Addresses of one name that are tried, in the system's order; all are checked.",
    beyond: 'The rest are not tried.',
  },
  addressTimeout: {
    value: 1_500,
    unit: 'ms',
    meaning: 'One of several addresses, within the time for connecting.',
    beyond: 'The next one is tried.',
  },
  urlLength: {
    value: 8_192,
    unit: 'characters',
    meaning: 'A URL, as given or redirected to.',
    beyond: 'It fails as `bad-url`.',
  },
  requestHeaders: {
    value: 64,
    unit: 'headers',
    meaning: 'Headers of a request.',
    beyond: 'It fails as `bad-request`.',
  },
  requestHeaderBytes: {
    value: 16 * 1024,
    unit: 'bytes',
    meaning: 'Names and values of these together.',
    beyond: 'It fails as `bad-request`.',
  },
  answerHeadBytes: {
    value: 32 * 1024,
    unit: 'bytes',
    meaning: 'Status lines and headers of one answer, with its 1xx answers.',
    beyond: 'It fails as `protocol`.',
  },
  answerHeaders: {
    value: 128,
    unit: 'headers',
    meaning: 'Header lines of one answer.',
    beyond: 'It fails as `protocol`.',
  },
  interimAnswers: {
    value: 8,
    unit: 'answers',
    meaning: '1xx answers before the final one.',
    beyond: 'It fails as `protocol`.',
  },
  continueTimeout: {
    value: 1_000,
    unit: 'ms',
    meaning: 'How long a peer that was asked whether it wants a body may take to say so.',
    beyond: 'It is sent.',
  },
  chunkLineBytes: {
    value: 4 * 1024,
    unit: 'bytes',
    meaning: "A chunk's size line, the extensions of all chunks together, and all trailers together.",
    beyond: 'It fails as `protocol`.',
  },
  gatheredBytes: {
    value: 16 * 1024,
    unit: 'bytes',
    meaning:
      'Small chunks of an answer, up to a sixteenth of this, are put together to pieces of so many bytes.',
    beyond: 'The next piece begins.',
  },
  drainBytes: {
    value: 64 * 1024,
    unit: 'bytes',
    meaning: 'What is read of an answer that is too long, to keep its connection.',
    beyond: 'The connection is closed.',
  },
  drainTime: {
    value: 1_000,
    unit: 'ms',
    meaning: 'How long this reading may take.',
    beyond: 'The connection is closed.',
  },
  unreadBytes: {
    value: 256 * 1024,
    unit: 'bytes',
    meaning: 'Received bytes of a stream that nobody has read yet.',
    beyond: 'The peer has to wait.',
  },
  redirects: {
    value: 3,
    unit: 'redirects',
    meaning: 'Redirects that a caller may ask to be followed.',
    beyond: 'It fails as `redirects`.',
  },
  timeout: {
    value: 10_000,
    unit: 'ms',
    meaning: 'A whole request that names no time of its own.',
    beyond: 'It fails as `timeout`.',
  },
  idleTimeout: {
    value: 10_000,
    unit: 'ms',
    meaning: 'Silence within such a request.',
    beyond: 'It fails as `timeout`.',
  },
  connectTimeout: {
    value: 5_000,
    unit: 'ms',
    meaning: 'Connecting for such a request.',
    beyond: 'It fails as `connect`.',
  },
  maxBytes: {
    value: 64 * 1024,
    unit: 'bytes',
    meaning: 'The body of the answer to such a request.',
    beyond: 'It is cut, or fails as `too-large`, as the caller asked.',
  },
});

/** Durations in milliseconds, sizes in bytes. */
export type OutboundLimits = Readonly<Record<keyof typeof outboundLimitTable & string, number>>;

export const outboundLimits: OutboundLimits = valuesOf(outboundLimitTable);
