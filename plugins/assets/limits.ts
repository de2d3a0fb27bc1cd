import { limitTable, valuesOf } from '../../core/base/limit-table.ts';

/** Bounds of assets that no deployment changes; config.ts has the other one. Those of the machine are its own. */
export const assetLimitTable = limitTable('assets', {
  erasures: {
    value: 4,
    unit: 'jobs',
    meaning: 'Deleted assets whose files one node erases at one time.',
    beyond: 'Others wait.',
  },
  eraseTime: {
    value: 5 * 60_000,
    unit: 'ms',
    meaning: 'One attempt at that.',
    beyond: 'It is tried again, and goes on where it was.',
  },
  eraseTrouble: {
    value: 10 * 60_000,
    unit: 'ms',
    meaning: 'Wait after five attempts that failed.',
    beyond: 'It is tried again, until it is done.',
  },
  remembered: {
    value: 7 * 24 * 3_600_000,
    unit: 'ms',
    meaning: 'How long a deleted asset is remembered: a file that comes yet is erased.',
    beyond: 'The sweep erases it.',
  },
  sweep: {
    value: 3_600_000,
    unit: 'ms',
    meaning: 'Time between two sweeps; the first is at the start.',
    beyond: 'They look again.',
  },
  retention: {
    value: 600_000,
    unit: 'ms',
    meaning: 'Time between two looks for assets that are kept no longer; the first is at the start.',
    beyond: 'It is looked again.',
  },
  retentionPage: {
    value: 100,
    unit: 'assets',
    meaning: 'Assets that are read at a time for that.',
    beyond: 'The next ones are read after them.',
  },
  orphanAge: {
    value: 3_600_000,
    unit: 'ms',
    meaning: 'How old a blob must be before a sweep takes it for one that belongs to no asset.',
    beyond: 'It is erased when the sweep after that finds the same.',
  },
  failedKept: {
    value: 7 * 24 * 3_600_000,
    unit: 'ms',
    meaning: 'How long what was stored of a file that failed is kept.',
    beyond: 'The sweep erases it.',
  },
  uploadUrl: {
    value: 12 * 3_600_000,
    unit: 'ms',
    meaning: 'How long the URL of an upload may be begun to be used.',
    beyond:
      '403 `upload.expired`; without a file by then task and asset fail. A retry of the task gives another URL.',
  },
  uploadLook: {
    value: 60_000,
    unit: 'ms',
    meaning: 'Time spent on waiting for bytes of an upload after which it is looked at how many came.',
    beyond: '408 `intake.slow` when that is less than `plugins.assets.leastRate` wants.',
  },
  importUrl: {
    value: 8192,
    unit: 'characters',
    meaning: 'The URL of an import.',
    beyond: '422 `body.invalid`.',
  },
  importName: {
    value: 200,
    unit: 'characters',
    meaning: 'What of the file name in the URL becomes the name of an import that was given none.',
    beyond: 'It is cut off.',
  },
  importWait: {
    value: 7 * 24 * 3_600_000,
    unit: 'ms',
    meaning: 'How long an import may wait until it is begun.',
    beyond: 'Task and asset fail; a retry of the task waits anew.',
  },
  importSilence: {
    value: 20_000,
    unit: 'ms',
    meaning: 'How long the server of an imported file may send nothing.',
    beyond: 'The connection counts as broken.',
  },
  importBreaks: {
    value: 20,
    unit: 'connections',
    meaning: 'Connections that may break while one try of an import fetches the file.',
    beyond: 'The try has failed; the task tries again.',
  },
  importFirstPause: {
    value: 250,
    unit: 'ms',
    meaning: 'Wait before the next connection; it doubles while nothing comes.',
    beyond: 'It is asked for what is missing.',
  },
  importPause: {
    value: 8000,
    unit: 'ms',
    meaning: 'The longest such wait.',
    beyond: 'A server that names a longer one (`Retry-After`) is left to the next try of the task.',
  },
  importStill: {
    value: 2 * 60_000,
    unit: 'ms',
    meaning: 'How long nothing may come of an imported file, over all connections.',
    beyond: 'The try has failed; the task tries again.',
  },
  importLook: {
    value: 60_000,
    unit: 'ms',
    meaning: 'Time spent on waiting for bytes of an imported file after which it is looked at how many came.',
    beyond: 'It is looked at.',
  },
  importLeast: {
    value: 1_048_576,
    unit: 'bytes',
    meaning: 'What must have come in that time: 17 kB/s.',
    beyond: 'The try has failed; the task tries again.',
  },
  importRetryAfter: {
    value: 15 * 60_000,
    unit: 'ms',
    meaning: 'How long before its next try a task lets a server alone that asks for it by `Retry-After`.',
    beyond: 'It is asked again earlier than it wants.',
  },
  importUnpacked: {
    value: 20,
    unit: 'times',
    meaning:
      'How much larger a file may be than the gzip that it comes as; beyond 64 MiB. Films hardly shrink.',
    beyond: 'The import fails.',
  },
  importSmall: {
    value: 64 * 1_048_576,
    unit: 'bytes',
    meaning: 'Unpacked bytes up to which that does not matter.',
    beyond: 'It does.',
  },
  conversionSilence: {
    value: 24 * 3_600_000,
    unit: 'ms',
    meaning: 'How long nothing may come of a film that is converted, also while it waits for its turn.',
    beyond: 'The try has failed; a task tries again.',
  },
  progressPause: {
    value: 2000,
    unit: 'ms',
    meaning: 'Time between two times that the progress of an upload is stored.',
    beyond: 'What it is in between is not seen.',
  },
  tusPerAsset: {
    value: 4,
    unit: 'uploads',
    meaning: 'Tus uploads of one asset that one node keeps.',
    beyond:
      'The next one ends the one that was begun first and is not being written, or is 409 `upload.busy`.',
  },
  tusPerAccount: {
    value: 100,
    unit: 'uploads',
    meaning: 'The same of one account.',
    beyond: '429 `upload.too_many` until some are finished, terminated or expired.',
  },
  tusPerNode: {
    value: 1000,
    unit: 'uploads',
    meaning: 'The same of all accounts.',
    beyond: '503 `server.busy`.',
  },
  tusMetadata: {
    value: 4096,
    unit: 'characters',
    meaning: '`Upload-Metadata` of a tus upload.',
    beyond: '400 `upload.invalid`.',
  },
  tusWait: {
    value: 10_000,
    unit: 'ms',
    meaning: 'How long a request of a tus upload waits for the one before to end.',
    beyond: '423 `upload.locked`; ask again.',
  },
  tusWaiting: {
    value: 4,
    unit: 'requests',
    meaning: 'Requests of one tus upload that wait so.',
    beyond: '423 `upload.locked` at once.',
  },
  tusPause: {
    value: 10_000,
    unit: 'ms',
    meaning: 'Time between two PATCHes of a tus upload in which its task goes on running.',
    beyond: 'The task is `waiting` until the next one.',
  },
  tusSweep: {
    value: 5 * 60_000,
    unit: 'ms',
    meaning: 'Time between two looks at the tus uploads that a node keeps.',
    beyond:
      'What is late or not wanted is removed then; of what is whole the asset is made, if that failed before.',
  },
  tusNodeGone: {
    value: 10 * 60_000,
    unit: 'ms',
    meaning: 'How long the uploads of a node that is gone are waited for: it may only be started again.',
    beyond: '404 `upload.not_found`: clients begin anew, on another node.',
  },
  owner: {
    value: 200,
    unit: 'bytes',
    meaning: 'The blob that says whose the others are.',
    beyond: 'They are taken for those of another deployment.',
  },
  suspects: {
    value: 10_000,
    unit: 'blobs',
    meaning: 'Blobs of no asset that a sweep remembers for the next one.',
    beyond: 'The others are found later.',
  },
  uploads: {
    value: 1000,
    unit: 'uploads',
    meaning: 'Old unfinished uploads that one sweep looks at.',
    beyond: 'The others come when those are gone.',
  },
  uploadStill: {
    value: 24 * 3_600_000,
    unit: 'ms',
    meaning: 'How long an old unfinished upload must not have grown.',
    beyond: 'It is aborted.',
  },
});

export const assetLimits = valuesOf(assetLimitTable);
