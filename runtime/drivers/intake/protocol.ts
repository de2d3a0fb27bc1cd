/** Messages to the writing thread, in this order for each `id`: `begin`, `bytes`, `end`; or `hash` alone. */
export type ToWorker = { readonly id: number } & (
  | { readonly begin: Opening }
  | { readonly bytes: Uint8Array }
  /** The last message: everything is synced to disk. The answer is `ended`, also after `failed`. */
  | { readonly end: true }
  | { readonly hash: { readonly path: string; readonly size: number } }
  /** Drops the hashes of this path. */
  | { readonly forget: string }
);

export interface Opening {
  readonly path: string;
  /** For a partial file, which is cut to its first `at` bytes: the file for the number of synced bytes. Without it a new file is created. */
  readonly mark?: string | undefined;
  readonly at: number;
  /** Bytes between two syncs. */
  readonly sync: number;
}

/** Messages from the thread. */
export type FromWorker = { readonly id: number } /** Bytes of one message were written. */ & (
  | { readonly written: number }
  /** Bytes of a partial file that are on disk and marked. */
  | { readonly marked: number }
  | { readonly failed: { readonly message: string; readonly code: string } }
  | { readonly ended: true }
  | { readonly hashes: Hashes }
);

export interface Hashes {
  /** Hex. */
  readonly md5: string;
  readonly sha256: string;
}

/**
 * The line of a mark: how many bytes of a partial file are certainly on disk. Its length is always the same, so one write within one
 * sector replaces it.
 */
export function markText(bytes: number): string {
  return String(bytes).padStart(markDigits, '0');
}

/** Digits of the largest safe integer. */
export const markDigits = 16;
