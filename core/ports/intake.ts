import type { Amount } from '../plugin/sweep-counts.ts';

/**
 * Receives files from clients and writes them to `<dataDir>/uploads` of this node. A thread writes and hashes them while they arrive.
 * A slow disk slows the sender, so memory use does not depend on their length. A file that was not adopted is removed at the next
 * start.
 *
 * Faults: `intake.too_large` (413), `intake.broken` (400: the body ended early, for its `cause`), `intake.silent` and `intake.slow`
 * (408: the sender), `intake.full` (507: no room; thrown before a byte is read if the length is known, and room is reserved for each
 * file), `intake.unavailable` (503: try again). After a fault nothing is left. The reason of an aborted signal is thrown unchanged.
 */
export interface Intake {
  /** Removes files of a former process, except partial files that have not expired, and returns the amount. Called once, before the first file. */
  open(): Promise<Amount>;

  /**
   * Fault `intake.full` if a file of so many bytes would be refused now; 0 for an unknown length. An early check: it reserves
   * nothing.
   */
  checkRoom(bytes: number): Promise<void>;

  /** Reads a body to its end; after a fault the body is cancelled. When this resolves the file is on disk and survives a power failure. */
  receive(body: ReadableStream<Uint8Array> | null, options: ReceiveOptions): Promise<ReceivedFile>;

  /** Files that arrive in several requests. */
  readonly partial: PartialFiles;

  /** Ends what is running and removes its files, except partial ones. Later calls throw Fault `intake.unavailable`. */
  close(): Promise<void>;
}

export interface ReceiveOptions {
  /** Most bytes. */
  readonly most: number;
  /** Announced length, to reserve room. Another length is no error here. */
  readonly expected?: number;
  /** Longest time without a byte, ms. Default: 30 s. */
  readonly silence?: number;
  /** Lowest speed. Default: none beyond `silence`. */
  readonly least?: Pace;
  readonly signal: AbortSignal;
  /** Called with the number of received bytes. */
  onBytes?(count: number): void;
}

/** At least `rate` bytes a second, on average over each `window` ms of waiting for the sender. */
export interface Pace {
  readonly rate: number;
  readonly window: number;
}

export interface ReceivedFile {
  /** On this machine. `Blobs.adopt` may rename it. */
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** Hex. */
  readonly md5: string;
  readonly sha256: string;
  /** Removes it, unless it was adopted, and releases its room. Must always be called. */
  discard(): Promise<void>;
}

/**
 * Files that arrive over several requests, possibly hours apart. Received bytes survive a crash and a power failure. They are on this
 * node only. The faults are those of `Intake`.
 */
export interface PartialFiles {
  /** Creates one. When this resolves it survives a crash. Faults `intake.full`, `intake.unavailable`. */
  begin(file: NewPartialFile): Promise<PartialFile>;
  find(id: string): PartialFile | undefined;
  /** All of them, also of former processes. The caller removes expired ones. */
  list(): readonly PartialFile[];
}

export interface NewPartialFile {
  /** Lower case letters, digits and `-`. */
  readonly id: string;
  /** Bytes of the complete file. */
  readonly size: number;
  /** Epoch ms. A start after this time removes it. */
  readonly expires: number;
  /** Facts for its owner, stored with it. */
  readonly note: Readonly<Record<string, string>>;
}

export interface PartialFile extends NewPartialFile {
  /** Bytes that are certainly on disk. Grows when an `append` ends, also when it fails. */
  readonly offset: number;
  /**
   * Appends a body; resolves with the new `offset`. One call at a time. If the body breaks off, this throws, and the received bytes
   * count all the same, except after an error of the disk. Fault `intake.beyond` (413) for more bytes than are missing; those before
   * count.
   */
  append(body: ReadableStream<Uint8Array> | null, options: AppendOptions): Promise<number>;
  /**
   * The complete file, hashed, under a new name that can be adopted. The partial file stays until it is removed, so nothing is lost if
   * the adoption fails. May be called again.
   */
  received(): Promise<ReceivedFile>;
  /** May be repeated. Not during an `append`. */
  remove(): Promise<void>;
}

export interface AppendOptions {
  /** Announced length of what is new in the body, to reserve room. */
  readonly expected?: number;
  /** Bytes at the beginning of the body that the file has already: they are read and dropped. Default: none. */
  readonly skip?: number;
  /** Lowest speed of this body, as in `ReceiveOptions`. */
  readonly least?: Pace;
  readonly signal: AbortSignal;
  /** Called with the number of received bytes of the file. */
  onBytes?(count: number): void;
}
