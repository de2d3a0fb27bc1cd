import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { says } from '../../core/http/http.ts';
import { json } from '../../core/http/operation.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';

/**
 * A plugin for tests of the whole program, named by its path in the config: `POST /emit {type, streams, each, batch}` emits
 * `each` events for each of these streams of the admin account, `batch` of them in one commit.
 */
export default definePlugin({
  id: 'emitter',
  contract: 3,
  summary: 'emits what a test asks for',
  routes: (kit) =>
    new Elysia().post(
      '/emit',
      async ({ request }) => {
        const { type, streams, each = 1, batch = 1, from = 0 } = (await request.json()) as Emission;
        const account = (await kit.resources.find('account', 'role', 'admin'))?.id ?? '';
        let events = [];
        const ids: string[] = [];
        for (let n = 0; n < each; n += 1) {
          for (const stream of streams) {
            const at = kit.clock.now();
            const id = `emitted/${stream}/${from + n}/${type}`;
            const body = {
              id,
              createdAt: at,
              timestamp: at,
              event: type,
              stream: { id: stream },
              payload: { n: from + n },
            };
            events.push({ id, type, account, stream, body: JSON.stringify(body) });
            ids.push(id);
            if (events.length < batch) continue;
            await kit.resources.write({ rows: [], events });
            events = [];
          }
        }
        if (events.length > 0) await kit.resources.write({ rows: [], events });
        return Response.json(ids);
      },
      says('Emits events.', {
        name: 'emit',
        isOpen: true,
        answers: { 200: json(Type.Array(Type.String())) },
      }),
    ),
});

interface Emission {
  readonly type: string;
  readonly streams: readonly string[];
  readonly each?: number;
  readonly batch?: number;
  /** Number of the first event of each stream. */
  readonly from?: number;
}
