import { Fault } from '../../core/fault.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { FromWorker, ToWorker } from './protocol.ts';

const worker = new URL('./intake-worker.ts', import.meta.url);

/** What is heard of one file. */
export interface FileEars {
  written(bytes: number): void;
  done(hashes: { readonly md5: string; readonly sha256: string }): void;
  dropped(): void;
  failed(error: Fault): void;
}

/** The main thread's end of the writing one, which is begun when there is something to write. */
export class Writer {
  readonly #clock: Clock;
  readonly #idle: number;
  readonly #files = new Map<number, FileEars>();
  #thread: Worker | undefined;
  #last = 0;
  #cancelIdle = () => {};

  /** @param options.idle ms that an idle thread is kept */
  constructor(options: { clock: Clock; idle: number }) {
    this.#clock = options.clock;
    this.#idle = options.idle;
  }

  /** Begins a file; the answer names it. */
  begin(begin: { path: string; sync: number }, ears: FileEars): number {
    this.#last += 1;
    this.#files.set(this.#last, ears);
    this.#cancelIdle();
    this.#thread ??= this.#start();
    this.#send({ id: this.#last, begin });
    return this.#last;
  }

  /** The bytes are the thread's from now on. */
  write(id: number, bytes: Uint8Array): void {
    const isWhole = bytes.byteLength === bytes.buffer.byteLength;
    // No `slice`: that of a Buffer is a view of the same memory.
    const own = isWhole ? bytes : new Uint8Array(bytes);
    this.#thread?.postMessage({ id, bytes: own } satisfies ToWorker, [own.buffer as ArrayBuffer]);
  }

  end(id: number): void {
    this.#send({ id, end: true });
  }

  drop(id: number): void {
    if (this.#thread) this.#send({ id, drop: true });
    else this.#files.get(id)?.dropped();
  }

  /** Nothing more is heard of it. */
  forget(id: number): void {
    this.#files.delete(id);
    if (this.#files.size > 0 || !this.#thread) return;
    this.#cancelIdle = this.#clock.at(this.#clock.now() + this.#idle, () => this.close());
  }

  close(): void {
    this.#cancelIdle();
    this.#thread?.terminate();
    this.#thread = undefined;
  }

  #send(message: ToWorker): void {
    this.#thread?.postMessage(message);
  }

  #start(): Worker {
    const begun = new Worker(worker);
    const ended = (reason: string) => {
      if (this.#thread !== begun) return;
      this.close();
      const lost = [...this.#files.values()];
      for (const file of lost) file.failed(unavailable(reason));
    };
    begun.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      if (this.#thread === begun) this.#hear(data);
    };
    begun.onerror = (error) => {
      error.preventDefault();
      ended(error.message);
    };
    begun.onmessageerror = () => ended('a message between the threads could not be read');
    begun.addEventListener('close', () => ended('its thread ended'));
    return begun;
  }

  #hear(message: FromWorker): void {
    const file = this.#files.get(message.id);
    if ('written' in message) file?.written(message.written);
    else if ('done' in message) file?.done(message.done);
    else if ('dropped' in message) file?.dropped();
    else file?.failed(faultOf(message.failed));
  }
}

function faultOf({ message, code }: { message: string; code: string }): Fault {
  return code === 'ENOSPC' || code === 'EDQUOT' ? noRoom() : unavailable(message);
}

export function noRoom(): Fault {
  const message =
    'The disk of the server is nearly full, so the file is not taken. Free some space, for example by deleting assets, and send it again.';
  return new Fault('intake.full', { status: 507, message });
}

export function unavailable(reason: string, cause?: unknown): Fault {
  const message = `The file could not be written down: ${reason}.`;
  return new Fault('intake.unavailable', { status: 503, message, retryAfter: 5, cause });
}
