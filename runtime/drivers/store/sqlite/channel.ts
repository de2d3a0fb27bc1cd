import { Fault } from '../../../../core/base/fault.ts';
import type { Answer, AnswerBatch, Calls, Problem, Request } from './protocol.ts';

export interface Channel {
  /** Rejects with `store.busy` (nothing was sent), `store.unknown` or `store.failed`. */
  call<Name extends keyof Calls>(
    name: Name,
    argument: Parameters<Calls[Name]>[0],
  ): Promise<ReturnType<Calls[Name]>>;
  /** Why the worker is gone; undefined while it works. */
  failure(): Fault | undefined;
  /** Resolves when nothing waits for an answer, and the answers have led to no further call. */
  idle(): Promise<void>;
  end(): void;
}

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
export function channel(
  url: URL,
  options: {
    maxWaiting: number;
    /** Default: a worker. */
    thread?: (() => Thread) | undefined;
    onFailure: (failure: Fault) => void;
  },
): Channel {
  const waiting = new Map<number, Waiting>();
  const idlers: (() => void)[] = [];
  let outbox: Request[] = [];
  let number = 0;
  let failure: Fault | undefined;
  let isEnded = false;

  const worker = options.thread?.() ?? new Worker(url);
  worker.onmessage = (message: MessageEvent<AnswerBatch>) => {
    if ('failed' in message.data) return fail(message.data.failed);
    for (const answer of message.data.answers) settle(answer);
  };
  worker.onerror = (error) => {
    // Bun would otherwise report it a second time as an uncaught error of this thread.
    error.preventDefault();
    fail(error.message);
  };
  worker.onmessageerror = () => fail('a message between the threads could not be read');
  worker.addEventListener('close', () => fail('its thread ended'));

  const settle = (answer: Answer) => {
    const caller = waiting.get(answer.id);
    waiting.delete(answer.id);
    if ('problem' in answer) caller?.reject(failureOf(answer.problem));
    else caller?.resolve(answer.value);
    if (waiting.size === 0) releaseIdlers();
  };

  const releaseIdlers = () => {
    for (const release of idlers.splice(0)) release();
  };

  const fail = (reason: string) => {
    if (failure || isEnded) return;
    failure = new Fault('store.failed', { status: 503, message: `the store has stopped: ${reason}` });
    outbox = [];
    for (const { reject } of waiting.values()) reject(unknown(reason));
    waiting.clear();
    releaseIdlers();
    worker.terminate();
    options.onFailure(failure);
  };

  const flush = () => {
    const batch = outbox;
    outbox = [];
    if (batch.length > 0) worker.postMessage(batch);
  };

  return {
    call(name, argument) {
      if (failure) return Promise.reject(failure);
      if (waiting.size >= options.maxWaiting && name !== 'close') {
        return Promise.reject(busy(waiting.size));
      }
      const id = ++number;
      if (outbox.push({ id, name, argument }) === 1) setImmediate(flush);
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      });
    },
    failure: () => failure,
    async idle() {
      while (waiting.size > 0) {
        await new Promise<void>((resolve) => idlers.push(resolve));
        // An answer often leads to the next call.
        for (let turn = 0; turn < 2; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
      }
    },
    end() {
      isEnded = true;
      worker.terminate();
    },
  };
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
