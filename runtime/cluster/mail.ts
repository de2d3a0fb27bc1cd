import type { Log } from '../../core/base/log.ts';
import type { Bus } from '../../core/ports/bus.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Order } from '../../core/ports/store.ts';
import type { Answer } from './answer.ts';
import type { NodeAddress } from './command.ts';
import { isWorthTelling, retried } from './retried.ts';

/** Answers of this node to others that are on their way. Beyond: a further one is not sent; who asked gets 503 `store.unknown`. */
const maxAnswers = 5000;
/** How long it is tried to send an answer, ms: as long as it is waited for. */
const answerTime = 9000;
/** How long a node that stops waits until its answers have arrived at other nodes, ms. */
const lastAnswers = 1000;

/**
 * What nodes tell each other: answers to commands, and orders. Mail for another process of the same node id is dropped:
 * what it was about ended with that process.
 */
export class Mail {
  readonly #options: MailOptions;
  readonly #stopping = new AbortController();
  #end: (() => Promise<void>) | undefined;
  #onTheirWay = 0;
  #onQuiet = () => {};

  constructor(options: MailOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#end = await this.#options.bus.listen((message) => this.#hear(message));
  }

  /** Answers that are on their way get some time to arrive. */
  async stop(): Promise<void> {
    const { clock } = this.#options;
    if (this.#onTheirWay > 0) {
      await new Promise<void>((resolve) => {
        const cancel = clock.at(clock.now() + lastAnswers, resolve);
        this.#onQuiet = () => {
          cancel();
          resolve();
        };
      });
    }
    this.#stopping.abort();
    await this.#end?.();
  }

  /** Answers that are on their way to other nodes. */
  get onTheirWay(): number {
    return this.#onTheirWay;
  }

  /** Tells whoever asked. One that cannot be told within the time that it waits will not hear of it. */
  answer(to: NodeAddress, letter: { readonly id: string; readonly answer: Answer }): void {
    const { self, clock, log, onAnswer } = this.#options;
    if (isSame(to, self)) {
      // A copy, as if it had come from elsewhere; in a turn of its own for the same reason.
      const copy = JSON.stringify(letter.answer);
      queueMicrotask(() => onAnswer(letter.id, JSON.parse(copy)));
      return;
    }
    if (this.#onTheirWay >= maxAnswers) {
      log.warn('an answer is not sent: too many are on their way', { to: to.node });
      return;
    }
    this.#onTheirWay += 1;
    const late = new AbortController();
    const giveUp = () => late.abort();
    this.#stopping.signal.addEventListener('abort', giveUp, { once: true });
    const cancel = clock.at(clock.now() + answerTime, giveUp);
    void retried(() => this.#tell(to, letter), {
      clock,
      signal: late.signal,
      onFailure: (error, tries) => {
        if (isWorthTelling(tries)) log.warn('an answer could not be sent', { to: to.node, tries, error });
      },
    }).finally(() => {
      cancel();
      this.#stopping.signal.removeEventListener('abort', giveUp);
      this.#onTheirWay -= 1;
      if (this.#onTheirWay === 0) this.#onQuiet();
    });
  }

  /** Resolves when the process will hear of it for sure, should it live on. */
  async order(order: Order, to: NodeAddress): Promise<void> {
    await this.#tell(to, { order });
  }

  #tell(to: NodeAddress, letter: object): Promise<void> {
    return this.#options.bus.tell(to.node, JSON.stringify({ to: to.incarnation, ...letter }));
  }

  #hear(message: string): void {
    const { self, log, onAnswer, onOrder } = this.#options;
    try {
      const letter = JSON.parse(message) as Letter;
      if (letter.to !== self.incarnation) return;
      if ('order' in letter) onOrder(letter.order);
      else onAnswer(letter.id, letter.answer);
    } catch (error) {
      log.error('a message from another node makes no sense', { error });
    }
  }
}

type Letter = { readonly to: string } & (
  | { readonly id: string; readonly answer: Answer }
  | { readonly order: Order }
);

interface MailOptions {
  readonly bus: Bus;
  readonly self: NodeAddress;
  readonly clock: Clock;
  readonly log: Log;
  onAnswer(id: string, answer: Answer): void;
  onOrder(order: Order): void;
}

function isSame(one: NodeAddress, other: NodeAddress): boolean {
  return one.node === other.node && one.incarnation === other.incarnation;
}
