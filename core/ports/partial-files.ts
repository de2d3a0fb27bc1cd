import type { ReceivedFile } from './intake.ts';

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
  readonly signal: AbortSignal;
  /** Told with each piece how many bytes of the file have come. */
  onBytes?(count: number): void;
}
