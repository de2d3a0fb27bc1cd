import type { Log } from '../../core/base/log.ts';
import type { Bus } from '../../core/ports/bus.ts';
import type { Order } from '../../core/ports/store.ts';
import type { Answer } from './answer.ts';
import type { NodeAddress } from './command.ts';

/**
 * What nodes tell each other: answers to commands, and orders. Mail for another process of the same node id is dropped:
 * what it was about ended with that process.
 */
export class Mail {
  readonly #options: MailOptions;
  #end: (() => Promise<void>) | undefined;
  #onTheirWay = 0;

  constructor(options: MailOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#end = await this.#options.bus.listen((message) => this.#hear(message));
  }

  async stop(): Promise<void> {
    await this.#end?.();
  }

  /** Answers that are on their way to other nodes. */
  get onTheirWay(): number {
    return this.#onTheirWay;
  }

  /** Tells whoever asked. One that the bus cannot send is not sent again: who asked gets 503 `store.unknown`. */
  answer(to: NodeAddress, letter: { readonly id: string; readonly answer: Answer }): void {
    const { self, log, onAnswer } = this.#options;
    if (to.node === self.node && to.incarnation === self.incarnation) {
      // In a turn of its own, as if it had come from elsewhere.
      queueMicrotask(() => onAnswer(letter.id, letter.answer));
      return;
    }
    this.#onTheirWay += 1;
    this.#tell(to, letter)
      .catch((error: unknown) => log.warn('an answer could not be sent', { to: to.node, error }))
      .finally(() => {
        this.#onTheirWay -= 1;
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
  readonly log: Log;
  onAnswer(id: string, answer: Answer): void;
  onOrder(order: Order): void;
}
