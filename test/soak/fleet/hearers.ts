import type { LoggedEvent } from '../../../core/ports/store.ts';
import { type Events, openEvents } from '../../e2e/harness/events.ts';
import type { Ledger } from './ledger.ts';

/** Who is told of events: an event stream at each API node, and a webhook. */
export interface Hearers {
  /** What the webhook calls. */
  readonly url: string;
  /** Everything in the log came to each of them, with one content, and at the event streams in order. */
  check(stored: readonly LoggedEvent[], ledger: Ledger): void;
  /** Ids that the webhook has not got. */
  missing(stored: readonly LoggedEvent[]): string[];
  close(): Promise<void>;
}

export async function hearers(urls: readonly string[], key: string): Promise<Hearers> {
  const streams = new Map<string, Events>();
  for (const url of urls) streams.set(url, await openEvents(url, { key }));
  const bodies = new Map<string, string>();
  const changed: string[] = [];
  /** Event → ids of the deliveries of it: attempts of one job have the same. */
  const deliveries = new Map<string, Set<string>>();
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const text = await request.text();
      const { id } = JSON.parse(text);
      const own = deliveries.get(id) ?? new Set();
      deliveries.set(id, own.add(request.headers.get('webhook-id') ?? ''));
      const before = bodies.get(id);
      if (before !== undefined && contentOf(before) !== contentOf(text))
        changed.push(`${before} and ${text}`);
      bodies.set(id, text);
      return new Response('ok');
    },
  });
  // Those of no account are for plugins alone.
  const shown = (stored: readonly LoggedEvent[]) => stored.filter(({ account }) => account !== '');
  const told = (stored: readonly LoggedEvent[]) =>
    shown(stored).filter(({ type }) => type !== 'stream.health');
  const missing = (stored: readonly LoggedEvent[]) =>
    told(stored)
      .filter(({ id }) => !bodies.has(id))
      .map(({ id }) => id);
  return {
    url: `http://127.0.0.1:${server.port}/`,
    missing,
    check(stored, ledger) {
      for (const one of changed) ledger.violation(`the webhook got an event with two contents: ${one}`);
      for (const [id, own] of deliveries)
        if (own.size > 1)
          ledger.violation(`event ${id} was delivered by several jobs: ${[...own].join(' ')}`);
      for (const id of missing(stored)) ledger.violation(`the webhook never got ${id}`);
      for (const [url, { seen }] of streams) {
        const firsts = [...new Set(seen.map(({ id }) => id))];
        const heard = new Set(firsts);
        for (const { id } of shown(stored))
          if (!heard.has(id)) ledger.violation(`the event stream of ${url} never showed ${id}`);
        const order = new Map(stored.map(({ id }, n) => [id, n]));
        const streamOf = new Map(stored.map(({ id, stream }) => [id, stream]));
        const strange = firsts.filter((id) => !order.has(id));
        for (const id of strange)
          ledger.violation(`the event stream of ${url} showed ${id}, which is not in the log`);
        // What is done again after a rollback comes in another order, but for each stream.
        const lines = Map.groupBy(firsts, (id) => (ledger.wasRolledBack ? streamOf.get(id) : ''));
        for (const [stream, ids] of lines) {
          const places = ids.flatMap((id) => order.get(id) ?? []);
          if (places.some((place, n) => n > 0 && place < places[n - 1]!))
            ledger.violation(`the event stream of ${url} is not in the order of the log ${stream}`);
        }
      }
    },
    async close() {
      for (const events of streams.values()) events.close();
      await server.stop(true);
    },
  };
}

/** Webhooks add what is of the delivery. */
function contentOf(text: string): string {
  const { id, event, stream, payload, timestamp } = JSON.parse(text);
  return JSON.stringify({ id, event, stream, payload, timestamp });
}
