import type { Log } from '../../core/base/log.ts';
import type { Kit, Plugin, Stop } from '../../core/plugin/plugin.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Order, Store } from '../../core/ports/store.ts';

/** Wait before an order that could not be sent to its node is sent again, ms. */
const orderRetry = 1000;
/** Orders that wait in memory; further ones wait in the store until its partitions are taken over anew. */
const maxWaiting = 10_000;

/**
 * Sees to it that orders are carried out: those for this process at once, those for another living one by handing them
 * to `send`, again and again until that succeeds. What is for a process that has ended is dropped: its connections and
 * playlists are gone. Seen-to orders are acknowledged.
 */
export function orderRunner(options: OrderRunnerOptions): OrderRunner {
  const { own, store, clock, log } = options;
  const handlers = new Map(
    options.plan.flatMap(({ plugin }) =>
      Object.entries(plugin.orders ?? {}).map(([type, run]) => [type, { plugin, run }] as const),
    ),
  );
  const waiting = new Map<string, Waiting>();
  let cancel: Stop | undefined;
  let isWorking = false;
  let isWanted = false;
  let isStopped = false;

  /** Throws what the handler throws. */
  const carryOut = (order: Order): void => {
    const handler = handlers.get(order.type);
    const kit = handler && options.kits.find(handler.plugin.id);
    if (handler && kit) handler.run(JSON.parse(order.body) as never, kit);
    else log.warn('an order has no handler and is dropped', { order: order.type });
  };
  const isHere = (to: Address | undefined) =>
    to === undefined || (to.node === own.id && to.incarnation === own.incarnation);
  const acknowledge = (orders: readonly Order[]) => {
    if (orders.length === 0) return;
    store
      .acknowledge(orders.map(({ id }) => id))
      .catch((error: unknown) => log.warn('orders could not be acknowledged', { error }));
  };
  const seeTo = async ({ order, to }: Waiting): Promise<void> => {
    if (to === undefined || isHere(to)) carryOut(order);
    else if (options.send && !(await options.isGone(to))) await options.send(order, to);
  };
  /** One after the other: those for one node keep their order, and none waits for another node. */
  const work = async () => {
    const failed = new Set<string>();
    for (const [id, one] of [...waiting]) {
      if (isStopped) return;
      const node = one.to?.node ?? own.id;
      if (failed.has(node)) continue;
      try {
        await seeTo(one);
        waiting.delete(id);
        acknowledge([one.order]);
      } catch (error) {
        failed.add(node);
        one.tries += 1;
        // The first time and then ever more rarely.
        if ((one.tries & (one.tries - 1)) !== 0) continue;
        const { tries, order } = one;
        log.error('an order failed; trying again', { order: order.type, node, tries, error });
      }
    }
    if (failed.size > 0) retryLater();
  };
  const retryLater = () => {
    if (isStopped) return;
    cancel ??= clock.at(clock.now() + orderRetry, () => {
      cancel = undefined;
      void begin();
    });
  };
  const begin = async () => {
    isWanted = true;
    if (isWorking) return;
    isWorking = true;
    while (isWanted && !isStopped) {
      isWanted = false;
      await work();
    }
    isWorking = false;
  };
  const put = (order: Order, to: Address | undefined, tries: number): void => {
    if (waiting.size < maxWaiting) waiting.set(order.id, { order, to, tries });
  };

  return {
    run(orders) {
      const seenTo: Order[] = [];
      for (const order of orders) {
        const to = addressOf(order);
        if (!isHere(to)) {
          // Of a former process of this node there is nothing left.
          if (to?.node === own.id) seenTo.push(order);
          else {
            put(order, to, 0);
            void begin();
          }
          continue;
        }
        try {
          carryOut(order);
          seenTo.push(order);
        } catch (error) {
          // The step that gave it is committed: its caller is not to hear of this.
          log.error('an order failed; trying again', { order: order.type, error });
          put(order, to, 1);
          retryLater();
        }
      }
      acknowledge(seenTo);
    },
    take(order) {
      const to = addressOf(order);
      if (!isHere(to)) return;
      put(order, to, 0);
      void begin();
    },
    stop() {
      isStopped = true;
      cancel?.();
    },
  };
}

export interface OrderRunner {
  /** Orders of committed steps. */
  run(orders: readonly Order[]): void;
  /** One that another node sent; who sent it acknowledges it. One that is not for this process is dropped. */
  take(order: Order): void;
  stop(): void;
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
