import { Fault } from '../../../core/base/fault.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import { type OwnThread, ownMemory, ownThread } from '../../base/own-thread.ts';
import { diskReason } from '../../disk/reason.ts';
import type { Begin, FromWorker, Packed, ToWorker } from './protocol.ts';

const worker = new URL('./pack-worker.ts', import.meta.url);

/** What is heard of one file. */
export interface PackingEars {
  taken(bytes: number): void;
  done(packed: Packed): void;
  dropped(): void;
  /** Its file is gone, unless the thread is. */
  failed(error: Fault): void;
  /** Whether the thread has something to do for it. */
  isOwed(): boolean;
}

/** The main thread's end of the one that packs, which is begun when there is something to pack. */
export class PackingThread {
  readonly #clock: Clock;
  readonly #limits: { readonly idle: number; readonly silence: number };
  readonly #worker: URL;
  readonly #files = new Map<number, PackingEars>();
  #thread: OwnThread<ToWorker> | undefined;
  #last = 0;
  #heardAt = 0;
  #cancel = () => {};

  /** @param options.worker of tests: another thread */
  constructor(options: {
    clock: Clock;
    limits: { readonly idle: number; readonly silence: number };
    worker?: URL | undefined;
  }) {
    this.#clock = options.clock;
    this.#limits = options.limits;
    this.#worker = options.worker ?? worker;
  }

  /** Begins a file; the answer names it. */
  begin(begin: Begin, ears: PackingEars): number {
    this.#last += 1;
    this.#files.set(this.#last, ears);
    this.#thread ??= this.#start();
    this.#touch();
    this.#send({ id: this.#last, begin });
    if (this.#files.size === 1) this.#watch();
    return this.#last;
  }

  /** The bytes are the thread's from now on. */
  write(id: number, bytes: Uint8Array): void {
    const own = ownMemory(bytes);
    this.#touch();
    this.#thread?.send({ id, bytes: own }, [own.buffer]);
  }

  end(id: number): void {
    this.#touch();
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
    this.#touch();
    this.#watch();
  }

  close(): void {
    this.#cancel();
    this.#thread?.end();
    this.#thread = undefined;
  }

  /** Ends a thread that is idle, or that says nothing although it has something to do. */
  #watch(): void {
    const { idle, silence } = this.#limits;
    const isIdle = this.#files.size === 0;
    const since = Math.min(this.#clock.now(), this.#heardAt);
    this.#cancel();
    this.#cancel = this.#clock.at(since + (isIdle ? idle : silence), () => {
      if (isIdle) return this.close();
      // Where it waits for us, it is not its silence.
      if (![...this.#files.values()].some((file) => file.isOwed())) this.#touch();
      if (this.#clock.now() - this.#heardAt < silence) this.#watch();
      else this.#fail(`nothing was heard of its thread for ${silence} ms`);
    });
  }

  #touch(): void {
    this.#heardAt = this.#clock.now();
  }

  #send(message: ToWorker): void {
    this.#thread?.send(message);
  }

  #start(): OwnThread<ToWorker> {
    return ownThread(this.#worker, {
      hear: (message: FromWorker) => this.#hear(message),
      ended: (reason) => this.#fail(reason),
    });
  }

  #fail(reason: string): void {
    this.close();
    const lost = [...this.#files.values()];
    for (const file of lost) file.failed(unavailable(reason));
  }

  #hear(message: FromWorker): void {
    this.#touch();
    const file = this.#files.get(message.id);
    if ('taken' in message) file?.taken(message.taken);
    else if ('done' in message) file?.done(message.done);
    else if ('dropped' in message) file?.dropped();
    else file?.failed(faultOf(message.failed));
  }
}

function faultOf({ message, code }: { message: string; code: string }): Fault {
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  return isFull ? noRoom() : unavailable(diskReason({ code }), new Error(message));
}

export function noRoom(): Fault {
  const message = 'There is no room on this node to pack the file for IPFS.';
  return new Fault('packing.full', { status: 507, message });
}

export function unavailable(reason: string, cause?: unknown): Fault {
  const message = `The file could not be packed for IPFS: ${reason}.`;
  return new Fault('packing.unavailable', { status: 503, message, retryAfter: 5, cause });
}
