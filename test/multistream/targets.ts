import type { NewStream } from '../e2e/harness/api.ts';
import type { Events } from '../e2e/harness/events.ts';
import type { Server } from '../e2e/harness/server.ts';
import { until } from '../e2e/harness/wait.ts';

/** A reference to a target, as a stream's `multistream` field has it. */
export interface Pushed {
  readonly id: string;
  readonly profile: string;
  readonly videoOnly?: boolean;
}

/** The targets of a server as its clients handle them. */
export interface Targets {
  /** A target of this URL; answers what a stream is to name. Its name is made of `name`, never of its URL. */
  create(name: string, options: { url: string; videoOnly?: boolean }): Promise<Pushed>;
  /** Changes it for whoever pushes to it. */
  change(target: Pushed, body: { url?: string; disabled?: boolean; name?: string }): Promise<void>;
  delete(target: Pushed): Promise<void>;
  /** Where a stream is pushed to from now on. */
  set(stream: { id: string }, pushed: readonly Pushed[]): Promise<void>;
  createStream(name: string, pushed: readonly Pushed[]): Promise<NewStream>;
  /** Names of a target's events in order, without `multistream.`; an error with its sentence: `error: …`. */
  told(target: Pushed): string[];
  /** Waits until the last events of a target are these. An error without a sentence fits each. */
  ends(target: Pushed, names: readonly string[], options?: { within: number }): Promise<void>;
}

export function targetsOf(server: Server, events: Events): Targets {
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await server.api.request(method, path, body);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text;
  };
  const told = ({ id }: Pushed) => {
    const own = new Map<string, string>();
    for (const event of events.seen) {
      const payload = event.payload as Payload | undefined;
      if (!event.event.startsWith('multistream.') || payload?.target.id !== id) continue;
      const name = event.event.slice('multistream.'.length);
      // After a reconnect an event may come once more; it is the same.
      own.set(event.id, payload.error === undefined ? name : `${name}: ${payload.error}`);
    }
    return [...own.values()];
  };
  return {
    async create(name, { url, videoOnly }) {
      const text = await call('POST', '/api/multistream/target', { name, url });
      const { id } = JSON.parse(text) as { id: string };
      return { id, profile: 'source', ...(videoOnly && { videoOnly }) };
    },
    change: async ({ id }, body) => void (await call('PATCH', `/api/multistream/target/${id}`, body)),
    delete: async ({ id }) => void (await call('DELETE', `/api/multistream/target/${id}`)),
    set: async ({ id }, pushed) =>
      void (await call('PATCH', `/api/stream/${id}`, { multistream: { targets: pushed } })),
    createStream: (name, pushed) => server.api.createStream({ name, multistream: { targets: pushed } }),
    told,
    async ends(target, names, { within } = { within: 30_000 }) {
      const fits = () => {
        const last = told(target).slice(-names.length);
        if (last.length === names.length && last.every((one, n) => isSame(one, names[n] ?? ''))) return true;
        throw new Error(`told: ${told(target).join(', ')}`);
      };
      await until(`events to end with ${names.join(', ')}`, fits, { within });
    },
  };
}

/** Without the sentences of errors. */
export function plain(told: readonly string[]): string[] {
  return told.map((one) => one.replace(/:.*/s, ''));
}

interface Payload {
  readonly target: { readonly id: string; readonly name: string; readonly profile: string };
  readonly error?: string;
}

function isSame(one: string, expected: string): boolean {
  return expected.includes(':') ? one === expected : one.replace(/:.*/s, '') === expected;
}
