import { Fault } from '../../../../core/base/fault.ts';
import type { OwnThread, ownThread } from '../../../base/own-thread.ts';
import type { Answer, AnswerBatch, Calls, Problem, Request, RequestBatch } from './protocol.ts';

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** Starts what owns the database, as `ownThread` does. */
export type StartThread = (
  handlers: Parameters<typeof ownThread<RequestBatch, AnswerBatch>>[1],
) => OwnThread<RequestBatch>;

/** The main thread's end of the worker: gathers the requests of one tick into one message. */
export class Channel {
  readonly #options: { readonly maxWaiting: number; onFailure(failure: Fault): void };
  readonly #thread: OwnThread<RequestBatch>;
  readonly #waiting = new Map<number, Waiting>();
  readonly #idlers: (() => void)[] = [];
  #outbox: Request[] = [];
  #number = 0;
  #failure: Fault | undefined;

  constructor(start: StartThread, options: { maxWaiting: number; onFailure(failure: Fault): void }) {
    this.#options = options;
    this.#thread = start({
      hear: (batch) => {
        if ('failed' in batch) return this.#fail(batch.failed);
        for (const answer of batch.answers) this.#settle(answer);
      },
      ended: (reason) => this.#fail(reason),
    });
  }

  /** Why the worker is gone; undefined while it works. */
  get failure(): Fault | undefined {
    return this.#failure;
  }

  /** Rejects with `store.busy` (nothing was sent), `store.unknown` or `store.failed`. */
  call<Name extends keyof Calls>(
    name: Name,
    argument: Parameters<Calls[Name]>[0],
  ): Promise<ReturnType<Calls[Name]>> {
    if (this.#failure) return Promise.reject(this.#failure);
    const { size } = this.#waiting;
    if (size >= this.#options.maxWaiting && name !== 'close') return Promise.reject(busy(size));
    this.#number += 1;
    const id = this.#number;
    if (this.#outbox.push({ id, name, argument }) === 1) setImmediate(() => this.#flush());
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
    });
  }

  /** Resolves when nothing waits for an answer, and the answers have led to no further call. */
  async idle(): Promise<void> {
    while (this.#waiting.size > 0) {
      await new Promise<void>((resolve) => this.#idlers.push(resolve));
      // An answer often leads to the next call.
      for (let turn = 0; turn < 2; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  end(): void {
    this.#thread.end();
  }

  #flush(): void {
    const batch = this.#outbox;
    this.#outbox = [];
    if (batch.length > 0) this.#thread.send(batch);
  }

  #settle(answer: Answer): void {
    const caller = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if ('problem' in answer) caller?.reject(failureOf(answer.problem));
    else caller?.resolve(answer.value);
    if (this.#waiting.size === 0) this.#releaseIdlers();
  }

  #releaseIdlers(): void {
    for (const release of this.#idlers.splice(0)) release();
  }

  #fail(reason: string): void {
    if (this.#failure) return;
    this.#failure = new Fault('store.failed', { status: 503, message: `the store has stopped: ${reason}` });
    this.#outbox = [];
    for (const { reject } of this.#waiting.values()) reject(unknown(reason));
    this.#waiting.clear();
    this.#releaseIdlers();
    this.#thread.end();
    this.#options.onFailure(this.#failure);
  }
}

function busy(requests: number): Fault {
  const message = `${requests} requests are waiting for the disk already; nothing was written`;
  return new Fault('store.busy', { status: 503, message, retryAfter: 1 });
}

function unknown(reason: string): Fault {
  const message = `the store stopped before it answered, the write may have happened: ${reason}`;
  return new Fault('store.unknown', { status: 503, message });
}

function failureOf(problem: Problem): Error {
  if (problem.code === undefined) return new Error(`store: ${problem.message}`);
  return new Fault(problem.code, { status: problem.status ?? 500, message: problem.message });
}
