/** Messages to the thread that writes, in order for each `id`: `begin`, `bytes`, `end`; or `hash` alone. */
export type ToWorker = { readonly id: number } & (
  | { readonly begin: Opening }
  | { readonly bytes: Uint8Array }
  /** No more comes: what came is brought to disk. Answered with `ended`, also after `failed`. */
  | { readonly end: true }
  | { readonly hash: { readonly path: string; readonly size: number } }
  /** The hashes of this path are not needed any more. */
  | { readonly forget: string }
);

export interface Opening {
  readonly path: string;
  /** Of a partial file, which is cut to its first `at` bytes: where to note how many bytes are on disk. Without it a new file is made. */
  readonly mark?: string | undefined;
  readonly at: number;
  /** Bytes after which it is synced. */
  readonly sync: number;
}

/** Messages from it. */
export type FromWorker = { readonly id: number } /** So many bytes of one message are written. */ & (
  | { readonly written: number }
  /** So many bytes of a partial file are on disk, and so is the note that they are. */
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
 * The line of a mark that says how many bytes of a partial file are on disk for certain. It has always the same length, so that
 * it is replaced in place, by one write within one sector.
 */
export function markText(bytes: number): string {
  return String(bytes).padStart(markDigits, '0');
}

/** As many as the largest whole number of a double has. */
export const markDigits = 16;
