const mebibyte = 1_048_576;

/** Bytes and ms. The first five are the section `recording` of the config; tests shorten the others. */
export const recorderDefaults = {
  /** Media of all recordings that waits for the disk. Beyond it parts are left out, up to the next key frame. */
  queue: 64 * mebibyte,
  /** The same of one recording file. */
  queuePerFile: 16 * mebibyte,
  /** What a power failure can take of a growing recording. */
  sync: 5000,
  /** Disk that recordings leave free. */
  reserve: 512 * mebibyte,
  /** Parts of all recordings that are uploaded to S3 at one time. */
  uploads: 4,
  /** Disk beyond `reserve` that must be free before recording continues. */
  reserveSlack: 64 * mebibyte,
  /** Disk beyond `reserve` that renditions leave to sources. */
  renditionReserve: 256 * mebibyte,
  /** Between two looks at the free disk. */
  spaceLook: 1000,
  /** Before a recording that could not be written is tried again. */
  retry: 2000,
  /** Before the recording thread is started again. */
  threadWait: 1000,
  /** Parts in which a recording is uploaded while it grows. 10,000 of them are the largest blob of S3. */
  uploadPart: 16 * mebibyte,
  /** Before a part that S3 did not take is sent again; doubles up to `uploadWaitMost`. */
  uploadWait: 1000,
  uploadWaitMost: 60_000,
  /** How long a finished recording waits for its renditions to be encoded to their end. */
  renditionEnd: 6000,
  /** How long a recording waits for the blobs of its renditions once its own are stored. */
  renditionWait: 60_000,
};

export type RecorderSettings = Readonly<typeof recorderDefaults>;
