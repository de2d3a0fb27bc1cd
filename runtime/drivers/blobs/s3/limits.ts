import { limitTable, valuesOf } from '../../../../core/base/limit-table.ts';

/** Blobs in S3. */
export const s3LimitTable = limitTable('blobs', {
  attempts: {
    value: 5,
    unit: 'attempts',
    meaning: 'How often one request to S3 is tried: no answer, 5xx, 429.',
    beyond: '503 `blobs.unavailable`. A body that breaks off counts anew from each byte that arrived.',
  },
  firstWait: {
    value: 200,
    unit: 'ms',
    meaning:
      'Longest wait before the second attempt. It doubles with each, and chance takes up to all of it away.',
    beyond: 'The next attempt is made.',
  },
  longestWait: {
    value: 5_000,
    unit: 'ms',
    meaning: 'Longest wait between two attempts.',
    beyond: 'The next attempt is made.',
  },
  requests: {
    value: 512,
    unit: 'requests',
    meaning: 'Requests to S3 under way, with the bodies that are being read.',
    beyond: 'Further ones are tried again, then 503 `blobs.busy`.',
  },
  connectTimeout: {
    value: 5_000,
    unit: 'ms',
    meaning: 'Connecting to S3, with TLS.',
    beyond: 'The next attempt is made.',
  },
  smallTimeout: {
    value: 15_000,
    unit: 'ms',
    meaning: 'One attempt at a request that carries no bytes of a blob.',
    beyond: 'The next attempt is made.',
  },
  silence: {
    value: 20_000,
    unit: 'ms',
    meaning: 'Longest time without a byte sent or received.',
    beyond: 'The next attempt is made; reading goes on from where it was.',
  },
  completeSilence: {
    value: 300_000,
    unit: 'ms',
    meaning: 'The same while S3 puts the parts of an upload together.',
    beyond: 'The next attempt is made.',
  },
  answerBytes: {
    value: 16 * 1_048_576,
    unit: 'bytes',
    meaning: 'An answer that is no blob: a page of a list.',
    beyond: '503 `blobs.unavailable`.',
  },
  streamedPart: {
    value: 8 * 1_048_576,
    unit: 'bytes',
    meaning: 'Parts in which a source is sent that is longer; larger ones when its known length needs them.',
    beyond: 'The next part begins; of unknown length, at 78 GiB, it is 413 `blobs.too_large`.',
  },
  partsAtOnce: {
    value: 3,
    unit: 'parts',
    meaning: 'Parts of one source that are sent side by side. They, and the next, are what lies in memory.',
    beyond: 'The source waits.',
  },
  sentPiece: {
    value: 256 * 1024,
    unit: 'bytes',
    meaning: 'Bytes handed to a socket in one go.',
    beyond: 'The rest follows when S3 has taken them.',
  },
  deletesAtOnce: {
    value: 16,
    unit: 'requests',
    meaning: 'Blobs of one call that are deleted side by side.',
    beyond: 'The others after them.',
  },
});

/** Durations in ms, sizes in bytes. */
export type S3Limits = Readonly<Record<keyof typeof s3LimitTable & string, number>>;

export const s3Limits: S3Limits = valuesOf(s3LimitTable);
