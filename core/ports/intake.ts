import type { Amount } from '../sweep-counts.ts';

/**
 * Files that somebody sends, written down on this node while they come: `<dataDir>/uploads`. They are hashed as they pass, and
 * neither hashed nor written by the thread that reads sockets. Memory does not grow with their length: a disk that is slow
 * slows the sender. What was not adopted by the time the process ends is removed at its next start.
 *
 * Faults: `intake.too_large` (413), `intake.broken` (400: the body ended before it was complete), `intake.silent` (408),
 * `intake.full` (507: there is no room, which is
 * known before a byte is read where the length is; of several at one time each has the room that it was promised), `intake.unavailable` (503: try again). After any of them nothing is left. The reason of an
 * aborted signal is thrown as it is.
 */
export interface Intake {
  /** Removes what a former process left, and says what that was. Called once, before the first file. */
  open(): Promise<Amount>;

  /**
   * Fault `intake.full` when a file of so many bytes would be refused now, for whoever is asked before a file comes; 0 when its
   * length is not known yet. Nothing is promised by it.
   */
  checkRoom(bytes: number): Promise<void>;

  /** Reads a body to its end; after a fault it is cancelled. What is answered is on disk: it survives loss of power. */
  receive(body: ReadableStream<Uint8Array> | null, options: ReceiveOptions): Promise<ReceivedFile>;

  /** What runs is ended, and its files are gone; later calls are Fault `intake.unavailable`. */
  close(): Promise<void>;
}

export interface ReceiveOptions {
  /** Bytes that it may have. */
  readonly most: number;
  /** Bytes that it is said to have, if anything is said: for the room it takes. Another length is no fault here. */
  readonly expected?: number;
  /** Longest time without a byte, ms, for who has bounds of his own. Default: that of senders. */
  readonly silence?: number;
  readonly signal: AbortSignal;
  /** Told with each piece how many bytes have come. */
  onBytes?(count: number): void;
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
