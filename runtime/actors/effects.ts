import type { AnyMachineSnapshot } from 'xstate';
import type { ActorType, Emitted } from '../../core/actor.ts';
import type { EventWrite, Order } from '../../core/ports/store.ts';

/** What a step emitted, as the store takes it: events for clients, orders for the node. */
export function effects(
  entry: RegisteredType,
  options: { emitted: readonly Emitted[]; snapshot: AnyMachineSnapshot; cause: string; at: number },
): { events: EventWrite[]; orders: Order[] } {
  const events: EventWrite[] = [];
  const orders: Order[] = [];
  for (const [index, emitted] of options.emitted.entries()) {
    const id = `${options.cause}/${index}/${emitted.type}`;
    if (emitted.type.startsWith('order.')) {
      orders.push({ id, type: emitted.type, body: JSON.stringify(emitted) });
      continue;
    }
    const { account, stream, body } = entry.type.describe(emitted, options.snapshot.context, {
      at: options.at,
      tools: entry.tools,
    });
    const head = { id, createdAt: options.at, timestamp: options.at, event: emitted.type };
    events.push({ id, type: emitted.type, account, stream, body: JSON.stringify({ ...head, ...body }) });
  }
  return { events, orders };
}

export interface RegisteredType {
  readonly type: ActorType;
  /** Given to the type's `describe`. */
  readonly tools: unknown;
}
