import { Fault } from '../../../core/base/fault.ts';
import { diskReason } from '../../base/disk.ts';
import { type OwnThread, ownMemory, ownThread } from '../../base/own-thread.ts';
import type { FromWorker, Hashes, Opening, ToWorker } from './protocol.ts';

const worker = new URL('./intake-worker.ts', import.meta.url);

/** What is heard of one file. */
export interface FileEars {
  written(bytes: number): void;
  done(hashes: Hashes): void;
  /** Nobody writes to it any more. */
  dropped(): void;
  /** Of a partial file. */
  marked?(bytes: number): void;
  paused?(): void;
  failed(error: Fault): void;
}

/** The main thread's end of the writing one, which is begun when there is something to write. */
export class Writer {
  readonly #files = new Map<number, FileEars>();
  /** Partial files that the thread knows, with the state of their hashes. */
  readonly #partial = new Set<number>();
  #thread: OwnThread<ToWorker> | undefined;
  #last = 0;

  /** Begins a file; the answer names it. */
  begin(begin: { path: string; sync: number }, ears: FileEars): number {
    const id = this.#next(ears);
    this.#send({ id, begin });
    return id;
  }

  /** The same of a partial file, to go on with it. `former`: what named it before. */
  open(open: Opening, { ears, former }: { ears: FileEars; former: number | undefined }): number {
    if (former !== undefined && this.#partial.has(former)) {
      this.#files.set(former, ears);
      this.#send({ id: former, resume: true });
      return former;
    }
    const id = this.#next(ears);
    this.#partial.add(id);
    this.#send({ id, open });
    return id;
  }

  pause(id: number): void {
    this.#send({ id, pause: true });
  }

  /** When all of a partial file was written. */
  hash(id: number): void {
    this.#send({ id, hash: true });
  }

  /** A partial file is not gone on with. Resolves when nobody writes to it any more. */
  async leave(id: number): Promise<void> {
    if (!this.#partial.delete(id)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#files.set(id, { written() {}, done() {}, dropped: resolve, failed: () => resolve() });
    this.#send({ id, close: true });
    await promise;
    this.forget(id);
  }

  /** The bytes are the thread's from now on. */
  write(id: number, bytes: Uint8Array): void {
    const own = ownMemory(bytes);
    this.#thread?.send({ id, bytes: own }, [own.buffer]);
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
  }

  /** Ends the thread. Whoever still waits for it hears why. */
  close(reason = 'the server is stopping'): void {
    this.#thread?.end();
    this.#thread = undefined;
    this.#partial.clear();
    const lost = [...this.#files.values()];
    for (const file of lost) file.failed(unavailable(reason));
  }

  #next(ears: FileEars): number {
    this.#last += 1;
    this.#files.set(this.#last, ears);
    this.#thread ??= this.#start();
    return this.#last;
  }

  #send(message: ToWorker): void {
    this.#thread?.send(message);
  }

  #start(): OwnThread<ToWorker> {
    return ownThread(worker, {
      hear: (message: FromWorker) => this.#hear(message),
      ended: (reason) => this.close(reason),
    });
  }

  #hear(message: FromWorker): void {
    const file = this.#files.get(message.id);
    if ('written' in message) file?.written(message.written);
    else if ('done' in message) file?.done(message.done);
    else if ('dropped' in message) file?.dropped();
    else if ('marked' in message) file?.marked?.(message.marked);
    else if ('paused' in message) file?.paused?.();
    else file?.failed(faultOf(message.failed));
  }
}

function faultOf({ message, code }: { message: string; code: string }): Fault {
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  return isFull ? noRoom() : unavailable(diskReason({ code }), new Error(message));
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
