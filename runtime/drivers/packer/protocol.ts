import type { CarPlaces, CidProfile } from '../../../core/ports/packer.ts';

/** What the thread that packs is told. Of one file in order; after `end` nothing but `drop`, after that nothing more. */
export type ToWorker =
  | { readonly id: number; readonly begin: Begin }
  | { readonly id: number; readonly bytes: Uint8Array }
  | { readonly id: number; readonly end: true }
  /** Nobody wants it any more: it is closed and removed. */
  | { readonly id: number; readonly drop: true };

/** What it says. After `done` and `failed` nothing more of that file but `dropped`. */
export type FromWorker =
  /** So many bytes of one message are taken. */
  | { readonly id: number; readonly taken: number }
  | { readonly id: number; readonly done: Packed }
  | { readonly id: number; readonly failed: { readonly message: string; readonly code: string } }
  | { readonly id: number; readonly dropped: true };

export interface Begin {
  /** Where the CAR is written; there must be nothing. */
  readonly path: string;
  readonly profile: CidProfile;
  /** Bytes after which they are brought to disk. */
  readonly sync: number;
}

/** A CAR that is on disk. */
export interface Packed {
  /** Of the file. */
  readonly cid: string;
  /** The same as CIDv1 in base32. */
  readonly name: string;
  /** Bytes of the CAR. */
  readonly size: number;
  readonly places: CarPlaces;
}
