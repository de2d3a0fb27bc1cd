import { Fault } from '../../../../core/base/fault.ts';
import type { Answer, AnswerBatch, Calls, Problem, Request } from './protocol.ts';

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** What the store needs of a worker. */
export type Thread = Pick<
  Worker,
  'postMessage' | 'onmessage' | 'onmessageerror' | 'onerror' | 'addEventListener' | 'terminate'
>;

/** The main thread's end of the worker: gathers the requests of one tick into one message. */
export class Channel {
  readonly #options: { readonly maxWaiting: number; onFailure(failure: Fault): void };
  readonly #worker: Thread;
  readonly #waiting = new Map<number, Waiting>();
  readonly #idlers: (() => void)[] = [];
  #outbox: Request[] = [];
  #number = 0;
  #failure: Fault | undefined;
  #isEnded = false;

  /** @param worker starts at once */
  constructor(worker: Thread, options: { maxWaiting: number; onFailure(failure: Fault): void }) {
    this.#options = options;
    this.#worker = worker;
    worker.onmessage = (message: MessageEvent<AnswerBatch>) => {
      if ('failed' in message.data) return this.#fail(message.data.failed);
      for (const answer of message.data.answers) this.#settle(answer);
    };
    worker.onerror = (error) => {
      // Bun would otherwise report it a second time as an uncaught error of this thread.
      error.preventDefault();
      this.#fail(error.message);
    };
    worker.onmessageerror = () => this.#fail('a message between the threads could not be read');
    worker.addEventListener('close', () => this.#fail('its thread ended'));
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
    this.#isEnded = true;
    this.#worker.terminate();
  }

  #flush(): void {
    const batch = this.#outbox;
    this.#outbox = [];
    if (batch.length > 0) this.#worker.postMessage(batch);
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
    if (this.#failure || this.#isEnded) return;
    this.#failure = new Fault('store.failed', { status: 503, message: `the store has stopped: ${reason}` });
    this.#outbox = [];
    for (const { reject } of this.#waiting.values()) reject(unknown(reason));
    this.#waiting.clear();
    this.#releaseIdlers();
    this.#worker.terminate();
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
