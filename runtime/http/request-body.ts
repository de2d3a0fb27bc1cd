import { ChunkDecoder } from './chunk-decoder.ts';
import type { BodyFraming } from './request-head.ts';

/** Bytes of a body that may wait to be read; beyond them the client has to wait. */
const mostWaiting = 262_144;

interface BodyOptions {
  readonly framing: BodyFraming;
  /** Called when it is read for the first time. */
  onRead(): void;
  /** Whether the socket should be read: not while too much waits here. */
  onFlow(isOpen: boolean): void;
}

/** The body of a request on its way in: `take` what comes from the socket, `stream` it to the handler as fast as that reads. */
export class RequestBody {
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** All of it has come. */
  isComplete = false;
  readonly #options: BodyOptions;
  readonly #decoder: ChunkDecoder | undefined;
  #received = 0;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #isRead = false;
  #isDropped = false;
  #failure: Error | undefined;
  #wake = () => {};

  constructor(options: BodyOptions) {
    this.#options = options;
    this.#decoder = options.framing === 'chunked' ? new ChunkDecoder() : undefined;
    this.stream = new ReadableStream(
      { pull: (controller) => this.#pull(controller), cancel: () => this.drop() },
      { highWaterMark: 0 },
    );
  }

  /** Takes what came and says how many bytes of it belong to the body. Undefined: it is no valid chunk. */
  take(bytes: Uint8Array): number | undefined {
    const taken = this.#decoder ? this.#decoder.take(bytes) : this.#counted(bytes);
    if (taken === undefined) return undefined;
    for (const piece of taken.pieces) {
      this.#received += piece.length;
      if (this.#isDropped || piece.length === 0) continue;
      this.#waiting.push(piece);
      this.#waitingBytes += piece.length;
    }
    this.isComplete = taken.isDone;
    if (this.#waitingBytes > mostWaiting) this.#options.onFlow(false);
    this.#wake();
    return taken.consumed;
  }

  /** The client left, or its body is malformed: reading it fails. */
  fail(error: Error): void {
    if (this.isComplete) return;
    this.#failure ??= error;
    this.#wake();
  }

  /** It is not read any more: the rest is discarded. */
  drop(): void {
    this.#isDropped = true;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#options.onFlow(true);
  }

  #counted(bytes: Uint8Array) {
    const size = this.#options.framing as number;
    const piece = bytes.subarray(0, size - this.#received);
    return {
      pieces: [piece],
      consumed: piece.length,
      isDone: this.#received + piece.length === size,
    };
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>): Promise<void> {
    if (!this.#isRead) {
      this.#isRead = true;
      this.#options.onRead();
    }
    for (;;) {
      const piece = this.#waiting.shift();
      if (piece) {
        this.#waitingBytes -= piece.length;
        if (this.#waitingBytes <= mostWaiting) this.#options.onFlow(true);
        return controller.enqueue(piece as Uint8Array<ArrayBuffer>);
      }
      if (this.isComplete) return controller.close();
      if (this.#failure) return controller.error(this.#failure);
      if (this.#isDropped) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
