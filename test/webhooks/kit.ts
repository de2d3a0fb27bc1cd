import type { Plugin } from '../../core/plugin/plugin.ts';
import accounts from '../../plugins/accounts/index.ts';
import events from '../../plugins/events/index.ts';
import health from '../../plugins/health/index.ts';
import streams from '../../plugins/streams/index.ts';
import webhooks from '../../plugins/webhooks/index.ts';
import { emitter } from '../kit/emitter.ts';
import { type World, world } from '../kit/world.ts';

export const base = '/api/webhook';
export const url = 'https://hooks.example.com/in';

/** A world with webhooks, and events of the admin account as a test names them. */
export async function hookWorld(
  options: { config?: Record<string, unknown>; durable?: boolean; plugins?: readonly Plugin[] } = {},
): Promise<HookWorld> {
  const { plugin, emit } = emitter();
  const w = await world({
    plugins: [accounts, streams, health, events, webhooks, plugin, ...(options.plugins ?? [])] as Plugin[],
    config: { webhooks: options.config ?? {} },
    ...(options.durable && { durable: true }),
  });
  const account = (await w.store.resources.find('account', 'role', 'admin'))?.id ?? '';
  return Object.assign(w, {
    account,
    async emit(type: string, stream = 'stream-1') {
      const id = await emit({ type, account, stream });
      await w.settle();
      return id;
    },
    async webhook(body: Record<string, unknown> = {}) {
      const answer = await w.request('POST', base, {
        body: { name: 'W', url, events: ['stream.started'], ...body },
      });
      if (answer.status !== 201) throw new Error(`no webhook: ${JSON.stringify(answer.body)}`);
      return answer.body;
    },
    async log(id: string) {
      return (await w.request('GET', `${base}/${id}/log?limit=1000`)).body;
    },
    sent: (prefix = '') =>
      w.outbound.sent
        .filter((one) => one.url.startsWith(prefix))
        .map(({ request }) => ({
          id: request.headers?.['webhook-id'],
          headers: request.headers ?? {},
          text: String(request.body),
          body: JSON.parse(String(request.body)),
        })),
  });
}

/** Answers of an endpoint that come when the test says so. */
export function heldEndpoint(w: World, prefix: string) {
  const waiting: ((status: number) => void)[] = [];
  w.outbound.answer(prefix, (_url, { signal }) => {
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number }>();
    signal?.addEventListener('abort', () => reject(signal.reason));
    waiting.push((status) => resolve({ status }));
    return promise;
  });
  return {
    /** Attempts that wait for an answer. */
    get waiting() {
      return waiting.length;
    },
    /** Answers the oldest. */
    async answer(status = 200) {
      waiting.shift()?.(status);
      // As long as a place is kept for the lane that had it.
      await w.advance('20ms');
    },
  };
}

export interface HookWorld extends World {
  readonly account: string;
  /** An event of the admin account, of `stream-1` unless told otherwise. Answers its id. */
  emit(type: string, stream?: string): Promise<string>;
  // biome-ignore lint/suspicious/noExplicitAny: the webhook object
  webhook(body?: Record<string, unknown>): Promise<any>;
  // biome-ignore lint/suspicious/noExplicitAny: log entries, newest first
  log(id: string): Promise<any[]>;
  sent(prefix?: string): SentRequest[];
}

interface SentRequest {
  /** `webhook-id` */
  readonly id?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of all events
  readonly body: any;
}
