import type { Log } from '../core/log.ts';
import type { Kit, Plugin, Stop } from '../core/plugin.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { Order, Store } from '../core/ports/store.ts';
import { nodeLimits } from './limits.ts';

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
  const waiting = new Map<string, { order: Order; to: Address }>();
  let cancel: Stop | undefined;
  let isSending = false;
  let isStopped = false;

  const carryOut = (order: Order): boolean => {
    const handler = handlers.get(order.type);
    const kit = handler && options.kits.get(handler.plugin.id);
    if (!handler || !kit) {
      log.warn('an order has no handler and is dropped', { order: order.type });
      return true;
    }
    try {
      handler.run(JSON.parse(order.body) as never, kit);
      return true;
    } catch (error) {
      // The step that gave it is committed: its caller is not to hear of this.
      log.error('an order failed; the next start repeats it', { order: order.type, error });
      return false;
    }
  };
  const isHere = (to: Address | undefined) =>
    to === undefined || (to.node === own.id && to.incarnation === own.incarnation);
  const acknowledge = (orders: readonly Order[]) => {
    if (orders.length === 0) return;
    store
      .acknowledge(orders.map(({ id }) => id))
      .catch((error: unknown) => log.warn('orders could not be acknowledged', { error }));
  };
  /** One after the other: those for one node keep their order. */
  const sendAll = async () => {
    for (const [id, { order, to }] of [...waiting]) {
      if (isStopped) return;
      if (options.send && !(await options.isGone(to))) await options.send(order, to);
      waiting.delete(id);
      acknowledge([order]);
    }
  };
  const send = () => {
    if (isSending || isStopped || waiting.size === 0) return;
    isSending = true;
    let hasFailed = false;
    sendAll()
      .catch((error: unknown) => {
        hasFailed = true;
        log.warn('an order could not be sent; it is tried again', { waiting: waiting.size, error });
      })
      .finally(() => {
        isSending = false;
        if (!hasFailed) send();
        else if (!isStopped) cancel = clock.at(clock.now() + nodeLimits.orderRetry.value, send);
      });
  };

  return {
    run(orders) {
      const seenTo: Order[] = [];
      for (const order of orders) {
        const to = addressOf(order);
        if (to && !isHere(to)) {
          if (to.node === own.id) seenTo.push(order);
          else if (waiting.size < nodeLimits.ordersWaiting.value) waiting.set(order.id, { order, to });
        } else if (carryOut(order)) seenTo.push(order);
      }
      acknowledge(seenTo);
      send();
    },
    take(order) {
      if (isHere(addressOf(order))) carryOut(order);
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
  readonly kits: ReadonlyMap<string, Kit>;
  readonly own: { readonly id: string; readonly incarnation: string };
  readonly store: Pick<Store, 'acknowledge'>;
  readonly clock: Clock;
  readonly log: Log;
  isGone(process: Address): Promise<boolean>;
  /** Resolves when the other node will hear of it for sure, should it live on. Absent where there is no other. */
  send?(order: Order, to: Address): Promise<void>;
}

interface Address {
  readonly node: string;
  readonly incarnation: string;
}

function addressOf(order: Order): Address | undefined {
  const { node, incarnation } = JSON.parse(order.body) as Partial<Address>;
  return typeof node === 'string' && typeof incarnation === 'string' ? { node, incarnation } : undefined;
}
