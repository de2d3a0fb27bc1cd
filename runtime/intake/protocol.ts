/** What the thread that writes is told. Of one file in order; after `end` and `drop` nothing more. */
export type ToWorker =
  | { readonly id: number; readonly begin: { readonly path: string; readonly sync: number } }
  | { readonly id: number; readonly bytes: Uint8Array }
  | { readonly id: number; readonly end: true }
  /** Nobody wants it any more: it is closed and removed. */
  | { readonly id: number; readonly drop: true };

/** What it says. */
export type FromWorker =
  /** So many bytes of one message are written. */
  | { readonly id: number; readonly written: number }
  | { readonly id: number; readonly done: { readonly md5: string; readonly sha256: string } }
  | { readonly id: number; readonly failed: { readonly message: string; readonly code: string } }
  | { readonly id: number; readonly dropped: true };
