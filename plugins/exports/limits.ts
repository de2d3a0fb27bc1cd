import { limitTable, valuesOf } from '../../core/base/limit-table.ts';

/** Bounds of exports that no deployment changes; config.ts has the others. */
export const exportLimitTable = limitTable('exports', {
  urlLength: {
    value: 8192,
    unit: 'characters',
    meaning: '`custom.url` of an export.',
    beyond: '422 `body.invalid`.',
  },
  headers: {
    value: 32,
    unit: 'headers',
    meaning: '`custom.headers` of an export.',
    beyond: '422 `body.invalid`.',
  },
  headerBytes: {
    value: 8192,
    unit: 'bytes',
    meaning: 'Names and values of these together.',
    beyond: '422 `body.invalid`.',
  },
  credential: {
    value: 4096,
    unit: 'characters',
    meaning: '`jwt`, `apiKey` and `apiSecret` of `ipfs.pinning`.',
    beyond: '422 `body.invalid`.',
  },
  metadataBytes: {
    value: 32_768,
    unit: 'bytes',
    meaning: '`ipfs.erc1155Metadata` as JSON.',
    beyond: '422 `body.invalid`.',
  },
  metadataDepth: {
    value: 16,
    unit: 'levels',
    meaning: 'Nesting of `ipfs.erc1155Metadata`.',
    beyond: '422 `body.invalid`.',
  },
  begin: {
    value: 7 * 24 * 3_600_000,
    unit: 'ms',
    meaning: 'How long an export may wait for its turn.',
    beyond: 'Its task fails.',
  },
  redirects: {
    value: 3,
    unit: 'redirects',
    meaning: 'Redirects, 307 and 308, that an export to a custom URL follows.',
    beyond: 'Its task fails.',
  },
  asksFrom: {
    value: 1_048_576,
    unit: 'bytes',
    meaning: 'The largest file that is sent to a custom URL without asking first whether it is wanted.',
    beyond: 'The request says `Expect: 100-continue`.',
  },
  answerBytes: {
    value: 4096,
    unit: 'bytes',
    meaning: 'What is read of the answer of a custom URL, for its error code.',
    beyond: 'The rest is not read.',
  },
  etag: {
    value: 256,
    unit: 'characters',
    meaning: 'The `ETag` of such an answer that is kept.',
    beyond: 'It is left out.',
  },
  retryAfter: {
    value: 15 * 60_000,
    unit: 'ms',
    meaning: 'How long a `Retry-After` of such an answer is waited for.',
    beyond: 'It is tried again earlier than was asked.',
  },
});

export const exportLimits = valuesOf(exportLimitTable);
