import type { Log } from '../../core/base/log.ts';
import type { Kit, Plugin } from '../../core/plugin/plugin.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Order, Store } from '../../core/ports/store.ts';

/** Wait before an order that could not be sent to its node is sent again, ms. */
const orderRetry = 1000;
/** Orders that wait in memory; further ones wait in the store until its partitions are taken over anew. */
const maxWaiting = 10_000;

/**
 * Carries out orders: those for this process at once, those for another living one by handing them to `send`, again and
 * again until that succeeds. An order for a process that has ended is dropped: its connections and playlists are gone.
 * Orders that are done are acknowledged.
 */
export class OrderRunner {
  readonly #options: OrderRunnerOptions;
  readonly #handlers: ReadonlyMap<string, Handler>;
  readonly #waiting = new Map<string, Waiting>();
  #cancel: (() => void) | undefined;
  #isWorking = false;
  #isWanted = false;
  #isStopped = false;

  constructor(options: OrderRunnerOptions) {
    this.#options = options;
    this.#handlers = new Map(
      options.plan.flatMap(({ plugin }) =>
        Object.entries(plugin.orders ?? {}).map(([type, run]) => [type, { plugin, run }] as const),
      ),
    );
  }

  /** Orders of committed steps. */
  run(orders: readonly Order[]): void {
    const done: Order[] = [];
    for (const order of orders) {
      const to = addressOf(order);
      if (!this.#isHere(to)) {
        // Of a former process of this node there is nothing left.
        if (to?.node === this.#options.own.id) done.push(order);
        else this.#put(order, to, 0);
        continue;
      }
      try {
        this.#carryOut(order);
        done.push(order);
      } catch (error) {
        // The step that gave it is committed: its caller must not fail.
        this.#options.log.error('an order failed; trying again', { order: order.type, error });
        this.#wait(order, to, 1);
        this.#retryLater();
      }
    }
    this.#acknowledge(done);
  }

  /** One that another node sent, which acknowledges it. One that is not for this process is dropped. */
  take(order: Order): void {
    const to = addressOf(order);
    if (this.#isHere(to)) this.#put(order, to, 0);
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  #isHere(to: Address | undefined): boolean {
    const { own } = this.#options;
    return to === undefined || (to.node === own.id && to.incarnation === own.incarnation);
  }

  #put(order: Order, to: Address | undefined, tries: number): void {
    this.#wait(order, to, tries);
    void this.#begin();
  }

  #wait(order: Order, to: Address | undefined, tries: number): void {
    if (this.#waiting.size < maxWaiting) this.#waiting.set(order.id, { order, to, tries });
  }

  async #begin(): Promise<void> {
    this.#isWanted = true;
    if (this.#isWorking) return;
    this.#isWorking = true;
    while (this.#isWanted && !this.#isStopped) {
      this.#isWanted = false;
      await this.#work();
    }
    this.#isWorking = false;
  }

  /** One after the other: those for one node keep their order, and none waits for another node. */
  async #work(): Promise<void> {
    const { own, log } = this.#options;
    const failed = new Set<string>();
    for (const [id, one] of [...this.#waiting]) {
      if (this.#isStopped) return;
      const node = one.to?.node ?? own.id;
      if (failed.has(node)) continue;
      try {
        await this.#deliver(one);
        this.#waiting.delete(id);
        this.#acknowledge([one.order]);
      } catch (error) {
        failed.add(node);
        one.tries += 1;
        // The first time and then ever more rarely.
        if ((one.tries & (one.tries - 1)) !== 0) continue;
        const { tries, order } = one;
        log.error('an order failed; trying again', { order: order.type, node, tries, error });
      }
    }
    if (failed.size > 0) this.#retryLater();
  }

  async #deliver({ order, to }: Waiting): Promise<void> {
    const { send, isGone } = this.#options;
    if (to === undefined || this.#isHere(to)) this.#carryOut(order);
    else if (send && !(await isGone(to))) await send(order, to);
  }

  /** Throws what the handler throws. */
  #carryOut(order: Order): void {
    const handler = this.#handlers.get(order.type);
    const kit = handler && this.#options.kits.find(handler.plugin.id);
    if (handler && kit) handler.run(JSON.parse(order.body) as never, kit);
    else this.#options.log.warn('an order has no handler and is dropped', { order: order.type });
  }

  #acknowledge(orders: readonly Order[]): void {
    if (orders.length === 0) return;
    const { store, log } = this.#options;
    store
      .acknowledge(orders.map(({ id }) => id))
      .catch((error: unknown) => log.warn('orders could not be acknowledged', { error }));
  }

  #retryLater(): void {
    if (this.#isStopped) return;
    const { clock } = this.#options;
    this.#cancel ??= clock.at(clock.now() + orderRetry, () => {
      this.#cancel = undefined;
      void this.#begin();
    });
  }
}

export interface OrderRunnerOptions {
  readonly plan: readonly { plugin: Plugin }[];
  readonly kits: { find(pluginId: string): Kit | undefined };
  readonly own: { readonly id: string; readonly incarnation: string };
  readonly store: Pick<Store, 'acknowledge'>;
  readonly clock: Clock;
  readonly log: Log;
  isGone(process: Address): Promise<boolean>;
  /** Resolves when the other node will hear of it for sure, should it live on. Absent where there is no other. */
  send?(order: Order, to: Address): Promise<void>;
}

interface Handler {
  readonly plugin: Plugin;
  readonly run: (body: never, kit: Kit) => void;
}

interface Waiting {
  readonly order: Order;
  readonly to: Address | undefined;
  tries: number;
}

interface Address {
  readonly node: string;
  readonly incarnation: string;
}

function addressOf(order: Order): Address | undefined {
  const { node, incarnation } = JSON.parse(order.body) as Partial<Address>;
  return typeof node === 'string' && typeof incarnation === 'string' ? { node, incarnation } : undefined;
}
