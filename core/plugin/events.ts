import type { EventRead, LoggedEvent } from '../ports/store.ts';
import { collection } from './token.ts';

/** The events of the platform, as they are committed. */
export interface EventFeed {
  /** Called for each event right after its commit, in log order per stream. Returns the unsubscribe. */
  subscribe(listener: (event: LoggedEvent) => void): () => void;
  /** Committed events after a position, oldest first. */
  after(position: number, options: EventRead): Promise<LoggedEvent[]>;
  /** Committed events before a position, newest first. They are kept for 24 h. */
  before(position: number, options: EventRead): Promise<LoggedEvent[]>;
  /** Where an event of this account stands in the log, or undefined when it is unknown to it or too old. */
  position(id: string, options: { account: string }): Promise<number | undefined>;
}

/** Whether the log has no more than what was read so. */
export function isEndOfLog(
  events: readonly LoggedEvent[],
  { limit, characters = Number.POSITIVE_INFINITY }: EventRead,
): boolean {
  if (events.length >= limit) return false;
  return events.reduce((sum, { body }) => sum + body.length, 0) <= characters;
}

/** What an event is about, as its actor described it. */
export function payloadOf<T>({ body }: LoggedEvent): T {
  return (JSON.parse(body) as { payload: T }).payload;
}

/** The events of a plugin, and what all enabled plugins say of theirs. */
export interface Events extends EventFeed {
  /** In the order in which the plugins start. */
  readonly declared: readonly DeclaredEvent[];
  /**
   * Writes one event and resolves when it is on disk. `duplicate`: one of this `id` was written within 24 h, and nothing
   * was now. A plugin that emits more than its share waits here; see docs/plugins/events.md.
   * Faults: `events.payload_too_large` (413), `events.flooded` (503: too many wait), `server.stopping`, `store.*` (503).
   */
  emit(event: Emission): Promise<'ok' | 'duplicate'>;
}

export interface Emission {
  /** One that the plugin declares in `emits`. */
  readonly type: string;
  /** Whose event it is. Ignored for an event with `webhooks: false`, which no client gets. */
  readonly account: string;
  /** Id of the stream that it belongs to, of the same account: the event shows it, and webhooks of the stream get it. */
  readonly stream?: string;
  /** JSON of at most 64 KiB. No secrets: clients and webhooks get it. */
  readonly payload?: unknown;
  /**
   * Makes a repeat recognisable: the type, account and id name one event. 1 to 200 visible ASCII characters.
   * Default: a new one.
   */
  readonly id?: string;
}

/** Characters of the name of an event. */
export const maxEventName = 100;

/** What a plugin says of one of its events: one sentence, or more. */
export type EventDeclaration =
  | string
  | {
      /** One sentence: when it happens. */
      readonly meaning: string;
      /** An example of its `payload`, which `POST /api/webhook/{id}/test` sends. */
      readonly payload?: Readonly<Record<string, unknown>>;
      /** False: it is for plugins alone. Default: clients get it, and webhooks can subscribe to it. */
      readonly webhooks?: boolean;
      /** Its body shows the stream. In the example that is on the air, unless this says otherwise. */
      readonly hasStream?: boolean | { readonly isActive: boolean };
    };

/** An event as an enabled plugin declares it. */
export interface DeclaredEvent {
  readonly type: string;
  /** Id of the plugin that emits it. */
  readonly plugin: string;
  readonly meaning: string;
  readonly payload: Readonly<Record<string, unknown>> | undefined;
  /** Clients get it: it is in event streams, and webhooks can subscribe to it. */
  readonly isForClients: boolean;
  /** Of the stream in its example; undefined when its body has no stream. */
  readonly stream: { readonly isActive: boolean } | undefined;
}

export function declaredEvents(plugins: readonly EmittingPlugin[]): DeclaredEvent[] {
  return plugins.flatMap(({ id, emits = {} }) =>
    Object.entries(emits).map(([type, declaration]) => {
      const said = typeof declaration === 'string' ? { meaning: declaration } : declaration;
      const { meaning, payload, webhooks = true, hasStream = false } = said;
      const stream = typeof hasStream === 'object' ? hasStream : hasStream ? { isActive: true } : undefined;
      return { type, plugin: id, meaning, payload, isForClients: webhooks, stream };
    }),
  );
}

interface EmittingPlugin {
  readonly id: string;
  readonly emits?: Readonly<Record<string, EventDeclaration>>;
}

/** Shows a stream as events show it; undefined when there is none. Offered by the plugin that has streams. */
export type StreamDescriber = (
  id: string,
) => Promise<{ readonly account: string; readonly body: Readonly<Record<string, unknown>> } | undefined>;

export const streamDescribers = collection<StreamDescriber>('core.stream-describers');
