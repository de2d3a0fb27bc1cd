import type { Amount } from '../plugin/sweep-counts.ts';

/**
 * Files that somebody sends, written down on this node while they come: `<dataDir>/uploads`. They are hashed as they pass, and
 * neither hashed nor written by the thread that reads sockets. Memory does not grow with their length: a disk that is slow
 * slows the sender. What was not adopted by the time the process ends is removed at its next start.
 *
 * Faults: `intake.too_large` (413), `intake.broken` (400: the body ended before it was complete, by its `cause`), `intake.silent` and
 * `intake.slow` (408: the sender's),
 * `intake.full` (507: there is no room, which is
 * known before a byte is read where the length is; of several at one time each has the room that it was promised), `intake.unavailable` (503: try again). After any of them nothing is left. The reason of an
 * aborted signal is thrown as it is.
 */
export interface Intake {
  /** Removes what a former process left, but for partial files whose time is not up, and says what that was. Called once, before the first file. */
  open(): Promise<Amount>;

  /**
   * Fault `intake.full` when a file of so many bytes would be refused now, for whoever is asked before a file comes; 0 when its
   * length is not known yet. Nothing is promised by it.
   */
  checkRoom(bytes: number): Promise<void>;

  /** Reads a body to its end; after a fault it is cancelled. What is answered is on disk: it survives loss of power. */
  receive(body: ReadableStream<Uint8Array> | null, options: ReceiveOptions): Promise<ReceivedFile>;

  /** Those that come in several pieces. */
  readonly partial: PartialFiles;

  /** What runs is ended, and its files are gone, but for the partial ones; later calls are Fault `intake.unavailable`. */
  close(): Promise<void>;
}

export interface ReceiveOptions {
  /** Bytes that it may have. */
  readonly most: number;
  /** Bytes that it is said to have, if anything is said: for the room it takes. Another length is no fault here. */
  readonly expected?: number;
  /** Longest time without a byte, ms, for who has bounds of his own. Default: that of senders. */
  readonly silence?: number;
  /** How fast it must come. Default: only not so slowly that it is silence. */
  readonly least?: Pace;
  readonly signal: AbortSignal;
  /** Told with each piece how many bytes have come. */
  onBytes?(count: number): void;
}

/** On average over each `window` ms that were spent on waiting for the sender: at least `rate` bytes a second. */
export interface Pace {
  readonly rate: number;
  readonly window: number;
}

export interface ReceivedFile {
  /** On this machine; whoever adopts it may rename it. */
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** Hex. */
  readonly md5: string;
  readonly sha256: string;
  /** Removes it, and gives back the room that it was promised; always to be called. One that was adopted is gone already. */
  discard(): Promise<void>;
}

/**
 * Files that come over several requests, hours apart: what has come of one survives the process and loss of power. They lie on this
 * node alone. Where nothing else is said the faults are those of `Intake`.
 */
export interface PartialFiles {
  /** Begins one that is not there yet; when this resolves it is remembered. Faults `intake.full`, `intake.unavailable`. */
  begin(file: NewPartialFile): Promise<PartialFile>;
  find(id: string): PartialFile | undefined;
  /** All that are kept, also of former processes; those whose time is up are the caller's to remove. */
  list(): readonly PartialFile[];
}

export interface NewPartialFile {
  /** Lower case letters, digits and `-`. */
  readonly id: string;
  /** Bytes that it will have. */
  readonly size: number;
  /** Epoch ms. What a former process left is removed after this time, unless somebody still asks for it. */
  readonly expires: number;
  /** What its owner must know of it, kept with it. */
  readonly note: Readonly<Record<string, string>>;
}

export interface PartialFile extends NewPartialFile {
  /** Bytes that are there whatever happens. It grows when an `append` ends, in whatever way. */
  readonly offset: number;
  /**
   * Puts a body behind what is there; resolves with the new `offset`. One at a time. A body that breaks off is a fault, and what
   * came of it counts all the same: only of a disk that fails it may be less. More than is missing is Fault `intake.beyond` (413): what came
   * before that counts.
   */
  append(body: ReadableStream<Uint8Array> | null, options: AppendOptions): Promise<number>;
  /**
   * The whole, when all is there: hashed, and with a name of its own that may be adopted. This one stays until it is removed: so nothing
   * is lost when what becomes of the file is not told. May be asked again.
   */
  received(): Promise<ReceivedFile>;
  /** Harmless when repeated. Not while it is appended to. */
  remove(): Promise<void>;
}

export interface AppendOptions {
  /** Bytes that the body is said to have, if anything is said: for the room it takes. */
  readonly expected?: number;
  /** As of `ReceiveOptions`, of this body. */
  readonly least?: Pace;
  readonly signal: AbortSignal;
  /** Told with each piece how many bytes of the file have come. */
  onBytes?(count: number): void;
}
