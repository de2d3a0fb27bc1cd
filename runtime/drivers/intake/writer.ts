import { Fault } from '../../../core/base/fault.ts';
import { diskReason, isDiskFull } from '../../base/disk.ts';
import { type OwnThread, ownMemory, ownThread } from '../../base/own-thread.ts';
import type { FromWorker, Hashes, Opening, ToWorker } from './protocol.ts';

const worker = new URL('./intake-worker.ts', import.meta.url);

/** Reports of the thread about one file. */
export interface FileEvents {
  written?(bytes: number): void;
  /** For a partial file. */
  marked?(bytes: number): void;
  hashed?(hashes: Hashes): void;
  /** Nothing more is written to it. */
  ended?(): void;
  failed(error: Fault): void;
}

/** Sends work to the writing thread, which is started when it is first needed. */
export class Writer {
  readonly #files = new Map<number, FileEvents>();
  #thread: OwnThread<ToWorker> | undefined;
  #last = 0;

  /** Opens a file for one body; returns its id. */
  begin(begin: Opening, events: FileEvents): number {
    const id = this.#next(events);
    this.#thread?.send({ id, begin });
    return id;
  }

  /** Hands the bytes over to the thread. */
  write(id: number, bytes: Uint8Array): void {
    const own = ownMemory(bytes);
    this.#thread?.send({ id, bytes: own }, [own.buffer]);
  }

  end(id: number): void {
    this.#thread?.send({ id, end: true });
  }

  /** The hashes of a complete, closed file. */
  async hash(file: { readonly path: string; readonly size: number }): Promise<Hashes> {
    const { promise, resolve, reject } = Promise.withResolvers<Hashes>();
    const id = this.#next({ hashed: resolve, failed: reject });
    this.#thread?.send({ id, hash: file });
    return await promise.finally(() => this.#files.delete(id));
  }

  /** The file was removed before it was hashed. */
  forget(path: string): void {
    this.#thread?.send({ id: 0, forget: path });
  }

  /** Ends the thread and all open files. */
  close(reason = 'the server is stopping'): void {
    this.#thread?.end();
    this.#thread = undefined;
    const lost = [...this.#files.values()];
    this.#files.clear();
    for (const file of lost) {
      file.failed(unavailable(reason));
      file.ended?.();
    }
  }

  #next(events: FileEvents): number {
    this.#last += 1;
    this.#files.set(this.#last, events);
    this.#thread ??= ownThread(worker, {
      hear: (message: FromWorker) => this.#hear(message),
      ended: (reason) => this.close(reason),
    });
    return this.#last;
  }

  #hear(message: FromWorker): void {
    const file = this.#files.get(message.id);
    if ('written' in message) file?.written?.(message.written);
    else if ('marked' in message) file?.marked?.(message.marked);
    else if ('hashes' in message) file?.hashed?.(message.hashes);
    else if ('failed' in message) file?.failed(faultOf(Object.assign(new Error(), message.failed)));
    else {
      this.#files.delete(message.id);
      file?.ended?.();
    }
  }
}

/** The fault for an error of the disk. */
export function faultOf(error: NodeJS.ErrnoException): Fault {
  return isDiskFull(error) ? noRoom() : unavailable(diskReason(error), error);
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
