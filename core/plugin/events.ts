import type { LoggedEvent } from '../ports/store.ts';

/** The events of the platform, as they are committed. */
export interface EventFeed {
  /** Called for each event right after its commit, in log order per stream. Returns the unsubscribe. */
  subscribe(listener: (event: LoggedEvent) => void): () => void;
  /** Committed events after a position, oldest first. */
  after(position: number, options: { account?: string; limit: number }): Promise<LoggedEvent[]>;
  /** Where an event of this account stands in the log, or undefined when it is unknown to it or too old. */
  position(id: string, options: { account: string }): Promise<number | undefined>;
}

/** What an event is about, as its actor described it. */
export function payloadOf<T>({ body }: LoggedEvent): T {
  return (JSON.parse(body) as { payload: T }).payload;
}
