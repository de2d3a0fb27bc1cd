import { Fault } from '../../core/base/fault.ts';
import { uuid } from '../../core/base/ids.ts';
import {
  type DeclaredEvent,
  type Emission,
  type EventFeed,
  type Events,
  type StreamDescriber,
  streamDescribers,
} from '../../core/plugin/events.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import type { EventWrite, LoggedEvent, Store } from '../../core/ports/store.ts';
import { EmitGate } from './emit-gate.ts';

/** Of one event as JSON: a delivery of it is held in memory for each webhook. */
const maxPayloadBytes = 65_536;
/** The id of an event is a header of its deliveries. */
const idPattern = /^[\x21-\x7e]{1,200}$/;
/** An account is part of the id. */
const accountPattern = /^[\x21-\x7e]{1,100}$/;

/** `kit.events` of one plugin. */
export function pluginEvents(plugin: string, options: PluginEventsOptions): Events {
  const { feed, declared, kit } = options;
  const own = new Map(declared.filter((one) => one.plugin === plugin).map((one) => [one.type, one]));
  let gate: EmitGate | undefined;
  let describe: StreamDescriber | undefined;
  return {
    declared,
    subscribe: (listener) => feed.subscribe(listener),
    after: (position, query) => feed.after(position, query),
    before: (position, query) => options.feed.before(position, query),
    position: (id, query) => feed.position(id, query),
    async emit(emission) {
      const event = own.get(emission.type);
      if (!event) {
        throw new Error(`plugin ${plugin} emits ${emission.type} without naming it in its emits`);
      }
      const payload = payloadOf(emission);
      const { clock, log, metrics, signal } = kit();
      gate ??= new EmitGate({ plugin, clock, log, metrics, signal });
      await gate.pass();
      describe ??= kit().offered(streamDescribers)[0];
      const written = await eventOf(emission, { event, payload, describe, at: clock.now() });
      return write(written, { ...options, isOnce: emission.id !== undefined, at: clock.now() });
    },
  };
}

interface PluginEventsOptions {
  readonly feed: EventFeed;
  /** Of all enabled plugins. */
  readonly declared: readonly DeclaredEvent[];
  readonly store: Pick<Store, 'write'>;
  /** That of the plugin, once there is one. */
  kit(): Pick<Kit, 'clock' | 'log' | 'metrics' | 'signal' | 'offered'>;
  /** Tells subscribers of what was written. */
  wrote(events: readonly LoggedEvent[]): void;
}

async function write(
  event: EventWrite,
  {
    store,
    wrote,
    isOnce,
    at,
  }: Pick<PluginEventsOptions, 'store' | 'wrote'> & { isOnce: boolean; at: number },
): Promise<'ok' | 'duplicate'> {
  const written = await store.write({ at, rows: [], events: [event], ...(isOnce && { isOnce }) });
  if (written.outcome === 'duplicate') return 'duplicate';
  if (written.outcome !== 'ok') throw new Error(`the event was not written: ${written.outcome}`);
  wrote([{ ...event, at, position: written.events[0] as number }]);
  return 'ok';
}

/** As JSON text, or undefined for an event without. Fault `events.payload_too_large`. */
function payloadOf({ type, payload }: Emission): string | undefined {
  if (payload === undefined) return undefined;
  const text = JSON.stringify(payload) as string | undefined;
  if (text === undefined) throw new TypeError(`the payload of ${type} is not JSON`);
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxPayloadBytes) return text;
  throw new Fault('events.payload_too_large', {
    status: 413,
    message: `The payload of ${type} has ${bytes} bytes as JSON; at most ${maxPayloadBytes} are allowed.`,
  });
}

async function eventOf(emission: Emission, options: EventOptions): Promise<EventWrite> {
  const { type, stream = '', id: given = uuid() } = emission;
  const { event, payload, describe, at } = options;
  if (!idPattern.test(given)) {
    throw new TypeError(`the id of ${type}: expected 1 to 200 visible ASCII characters without spaces`);
  }
  // One of no account is for plugins alone.
  const account = event.isForClients ? emission.account : '';
  if (event.isForClients && !(typeof account === 'string' && accountPattern.test(account))) {
    throw new TypeError(`the account of ${type}: expected the id of an account`);
  }
  // As the events of steps are named: <cause>/<index>/<type>.
  const id = `${event.plugin}:${account}:${given}/0/${type}`;
  const shown = stream === '' ? undefined : await describe?.(stream);
  if (shown && account !== '' && shown.account !== account) {
    throw new Error(`the stream of ${type} belongs to another account than the event`);
  }
  const head = JSON.stringify({
    ...{ id, createdAt: at, timestamp: at, event: type },
    // It may have been deleted meanwhile.
    ...(stream !== '' && { stream: shown?.body ?? { id: stream } }),
  });
  const body = payload === undefined ? head : `${head.slice(0, -1)},"payload":${payload}}`;
  return { id, type, account, stream, body };
}

interface EventOptions {
  readonly event: DeclaredEvent;
  readonly payload: string | undefined;
  readonly describe: StreamDescriber | undefined;
  readonly at: number;
}
