import { KeyedQueues } from '../../core/base/keyed-queues.ts';
import type { Log } from '../../core/base/log.ts';
import type { Kit, Plugin } from '../../core/plugin/plugin.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Order, Store } from '../../core/ports/store.ts';

/** Orders in memory; further ones wait in the store until its partitions are taken over anew. */
const maxWaiting = 10_000;

/**
 * Carries out orders: those for this process here and at once, those for another living one by `send` in their order; each until
 * it succeeds. An order for a process that has ended is dropped: its connections and playlists are gone. Orders that are done
 * are acknowledged.
 */
export class OrderRunner {
  readonly #options: OrderRunnerOptions;
  readonly #queues: KeyedQueues<Addressed>;
  /** Ids of the orders that are not done. */
  readonly #known = new Set<string>();

  constructor(options: OrderRunnerOptions) {
    const { clock, signal, log } = options;
    this.#options = options;
    this.#queues = new KeyedQueues({
      ...{ clock, signal },
      work: (one) => this.#deliver(one),
      failed({ order, to }, { tries, error }) {
        log.error('an order failed; trying again', { order: order.type, node: to?.node, tries, error });
      },
      put: (waiting, one) => void waiting.push(one),
    });
  }

  /** Orders of committed steps. */
  run(orders: readonly Order[]): void {
    for (const order of orders) {
      if (this.#known.has(order.id) || this.#known.size >= maxWaiting) continue;
      this.#known.add(order.id);
      const to = addressOf(order);
      // One that fails here keeps no other from being carried out.
      this.#queues.add(to === undefined || this.#isHere(to) ? order.id : to.node, { order, to });
    }
  }

  /** One that another node sent. */
  take(order: Order): void {
    if (this.#isHere(addressOf(order))) this.run([order]);
  }

  #isHere(to: Address | undefined): boolean {
    const { own } = this.#options;
    return to === undefined || (to.node === own.id && to.incarnation === own.incarnation);
  }

  async #deliver({ order, to }: Addressed): Promise<void> {
    const { send, isGone, store, log } = this.#options;
    let isDone = true;
    if (to === undefined || this.#isHere(to)) isDone = this.#carryOut(order);
    else if (!(await isGone(to))) await send(order, to);
    this.#known.delete(order.id);
    if (!isDone) return;
    store
      .acknowledge([order.id])
      .catch((error: unknown) => log.warn('an order could not be acknowledged', { error }));
  }

  /** False: its plugin is off, so that it stays in the store for the next start. */
  #carryOut(order: Order): boolean {
    const { plan, kits, log, isOff } = this.#options;
    const plugin = plan.find(({ plugin: { orders = {} } }) => Object.hasOwn(orders, order.type))?.plugin;
    if (!plugin) log.warn('an order has no handler and is dropped', { order: order.type });
    else if (isOff(plugin.id)) return false;
    else plugin.orders?.[order.type](JSON.parse(order.body) as never, kits.of(plugin.id));
    return true;
  }
}

interface OrderRunnerOptions {
  readonly plan: readonly { plugin: Plugin }[];
  readonly kits: { of(pluginId: string): Kit };
  readonly own: { readonly id: string; readonly incarnation: string };
  readonly store: Pick<Store, 'acknowledge'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Aborted when the program stops: what waits then stays in the store. */
  readonly signal: AbortSignal;
  /** This plugin failed at the start. */
  isOff(pluginId: string): boolean;
  isGone(process: Address): Promise<boolean>;
  /** Resolves when the other node will hear of it for sure, should it live on. */
  send(order: Order, to: Address): Promise<void>;
}

interface Addressed {
  readonly order: Order;
  /** The process it is for; undefined: any. */
  readonly to: Address | undefined;
}

interface Address {
  readonly node: string;
  readonly incarnation: string;
}

function addressOf(order: Order): Address | undefined {
  const { node, incarnation } = JSON.parse(order.body) as Partial<Address>;
  return typeof node === 'string' && typeof incarnation === 'string' ? { node, incarnation } : undefined;
}
