/** Messages to the thread that writes: of one file in order; nothing after `end`, `drop` and `close`. */
export type ToWorker =
  | { readonly id: number; readonly begin: { readonly path: string; readonly sync: number } }
  /** A partial file, cut to its first `at` bytes. `mark`: where to write down how many are on disk. */
  | { readonly id: number; readonly open: Opening }
  | { readonly id: number; readonly bytes: Uint8Array }
  | { readonly id: number; readonly end: true }
  /** Nobody wants it any more: it is closed and removed. */
  | { readonly id: number; readonly drop: true }
  /** No more of a partial file for now: what came is brought to disk. */
  | { readonly id: number; readonly pause: true }
  | { readonly id: number; readonly resume: true }
  /** All of a partial file has come. */
  | { readonly id: number; readonly hash: true }
  /** A partial file is not written to any more. It stays. */
  | { readonly id: number; readonly close: true };

export interface Opening {
  readonly path: string;
  readonly mark: string;
  readonly at: number;
  /** Bytes after which it is synced. */
  readonly sync: number;
  /** Bytes that are read at a time to be hashed. */
  readonly rehash: number;
}

/** Messages from it. */
export type FromWorker =
  /** So many bytes of one message are written. */
  | { readonly id: number; readonly written: number }
  | { readonly id: number; readonly done: Hashes }
  | { readonly id: number; readonly failed: { readonly message: string; readonly code: string } }
  | { readonly id: number; readonly dropped: true }
  /** So many bytes of a partial file are on disk, and it is written down that they are. */
  | { readonly id: number; readonly marked: number }
  | { readonly id: number; readonly paused: true };

export interface Hashes {
  /** Hex. */
  readonly md5: string;
  readonly sha256: string;
}
