import { limitTable, valuesOf } from '../../../core/base/limit-table.ts';

/** What the recorder of a node holds in memory, on disk and under way. */
export const recorderLimits = limitTable('recording', {
  queue: {
    value: 64 * 1_048_576,
    unit: 'bytes',
    meaning: 'Media of all takes on its way to the disk.',
    beyond: 'Parts are left out of a recording up to the next key frame.',
    key: 'recording.queue',
  },
  queuePerTake: {
    value: 16 * 1_048_576,
    unit: 'bytes',
    meaning: 'The same of one take.',
    beyond: 'Parts are left out of that recording up to the next key frame.',
    key: 'recording.queuePerTake',
  },
  sync: {
    value: 5000,
    unit: 'ms',
    meaning:
      'What of a growing recording loss of power can take. A crash of the process alone takes none of it.',
    beyond: 'It is synced.',
    key: 'recording.sync',
  },
  reserve: {
    value: 512 * 1_048_576,
    unit: 'bytes',
    meaning: 'Disk that recordings leave free.',
    beyond: 'Nothing more of a broadcast is recorded until there is room again.',
    key: 'recording.reserve',
  },
  uploads: {
    value: 4,
    unit: 'parts',
    meaning: 'Parts of recordings on their way to S3 at one time.',
    beyond: 'Further ones wait on disk.',
    key: 'recording.uploads',
  },
  reserveSlack: {
    value: 64 * 1_048_576,
    unit: 'bytes',
    meaning: 'What must be free beyond the reserve before recording goes on.',
    beyond: 'It goes on.',
  },
  batch: {
    value: 200,
    unit: 'ms',
    meaning: 'How long parts are gathered before the writing thread hears of them.',
    beyond: 'It hears of them.',
  },
  retry: {
    value: 2000,
    unit: 'ms',
    meaning: 'How long a recording that could not be written is left alone.',
    beyond: 'It is tried again with the next key frame.',
  },
  spaceLook: {
    value: 1000,
    unit: 'ms',
    meaning: 'How often the free disk is looked at while something is recorded.',
    beyond: 'It is looked at again.',
  },
  hashPiece: {
    value: 262_144,
    unit: 'bytes',
    meaning: 'What is hashed of a recording in one go, and what may wait to be hashed while it grows.',
    beyond: 'Writes have their turn, then it goes on.',
  },
  issueKept: {
    value: 30_000,
    unit: 'ms',
    meaning: 'How long `issues` say that a part of a recording is missing, after the last that was.',
    beyond: 'It is counted, and no longer told.',
  },
  idleFile: {
    value: 10_000,
    unit: 'ms',
    meaning: 'How long a file that nobody writes to stays open.',
    beyond: 'It is closed until it is needed again.',
  },
  openFiles: {
    value: 256,
    unit: 'files',
    meaning: 'Files of recordings that are open at one time.',
    beyond: 'The one used longest ago is closed.',
  },
  takes: {
    value: 10_000,
    unit: 'takes',
    meaning: 'Recordings on one node that grow, wait, or are finished and not yet removed.',
    beyond: 'A further broadcast is not recorded here.',
  },
  renditions: {
    value: 50,
    unit: 'renditions',
    meaning: 'Renditions of one session that are recorded.',
    beyond: 'Its recording has none of the others.',
  },
  renditionTakes: {
    value: 10_000,
    unit: 'renditions',
    meaning: 'The same of all sessions of one node.',
    beyond: 'A further one is not recorded.',
  },
  renditionQueue: {
    value: 50,
    unit: 'percent',
    meaning: 'How full `queue` may be for more of a rendition to be taken: the rest is for sources.',
    beyond: 'Parts are left out of the recording of a rendition, which shows the source there.',
  },
  renditionReserve: {
    value: 256 * 1_048_576,
    unit: 'bytes',
    meaning: 'Disk beyond `reserve` that renditions leave to sources.',
    beyond: 'Nothing more of a rendition is recorded until there is room again; sources are.',
  },
  renditionsAtOnce: {
    value: 4,
    unit: 'renditions',
    meaning: 'Renditions of one recording that become blobs at one time.',
    beyond: 'The others after them.',
  },
  renditionEnd: {
    value: 6000,
    unit: 'ms',
    meaning:
      'How long a recording that is finished waits for the end of its renditions, which is encoded yet.',
    beyond: 'It shows the source there. Its own blobs are made meanwhile.',
  },
  renditionWait: {
    value: 60_000,
    unit: 'ms',
    meaning: 'How long a recording whose own blobs are there waits for those of its renditions.',
    beyond: 'It is finished without those that are missing.',
  },
  uploadPart: {
    value: 16 * 1_048_576,
    unit: 'bytes',
    meaning: 'Parts in which a recording goes to S3 while it grows. A shorter one is sent as a whole.',
    beyond: 'The next part begins.',
  },
  // 10,000 parts of an upload, but for the moov.
  takeBytes: {
    value: 150 * 1024 ** 3,
    unit: 'bytes',
    meaning: 'One recording on one node: what S3 takes as one blob in parts of that size.',
    beyond: 'Nothing more of that session is recorded on this node.',
  },
  // A track of the film each, and 128 KiB of memory at worst.
  inits: {
    value: 250,
    unit: 'settings',
    meaning: 'Different settings (init segments) that an encoder uses within one recording on one node.',
    beyond: 'What comes with further ones is missing from the recording.',
  },
  uploadWait: {
    value: 1000,
    unit: 'ms',
    meaning: 'Wait before a part that S3 did not take is sent again. It doubles.',
    beyond: 'It is sent again.',
  },
  uploadWaitMost: {
    value: 60_000,
    unit: 'ms',
    meaning: 'Longest of these waits.',
    beyond: 'It is sent again.',
  },
  uploadAttempts: {
    value: 3,
    unit: 'attempts',
    meaning: 'How often the upload of one recording is begun or mended while it is finished.',
    beyond: '503 `recording.unavailable`; the next attempt at finishing goes on.',
  },
  threadWait: {
    value: 1000,
    unit: 'ms',
    meaning: 'Wait before the writing thread is started again, should it end by itself.',
    beyond: 'It is started with the next part; what came meanwhile is missing.',
  },
  closing: {
    value: 2000,
    unit: 'ms',
    meaning: 'What the end of the process waits for recordings to be synced.',
    beyond: 'It ends; they are mended at the next start.',
  },
  metaBytes: {
    value: 4 * 1_048_576,
    unit: 'bytes',
    meaning: 'A `take.json`.',
    beyond: 'It is not written; one that is found at the start is moved aside with its take.',
  },
  read: {
    value: 32,
    unit: 'files',
    meaning: 'Takes that are looked at side by side at the start.',
    beyond: 'The others after them.',
  },
});

/** Sizes in bytes, durations in ms. */
export type RecorderLimits = Readonly<Record<keyof typeof recorderLimits & string, number>>;

export const recorderDefaults: RecorderLimits = valuesOf(recorderLimits);
