import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { says } from '../../core/http/http.ts';
import { keyedRoutes } from '../../core/http/keyed.ts';
import { json, type Parameters } from '../../core/http/operation.ts';
import { limitOf, maxPage } from '../../core/http/query.ts';
import type { StreamsKit } from './config.ts';
import { deliveryLogs, stream } from './contract.ts';
import type { StreamDocument } from './document.ts';
import { sessionOf } from './lists.ts';
import { type TimelineSession, timelineEntrySchema, timelinePage } from './timeline.ts';

/** `/api/session/{id}/timeline`. */
export function timelineRoute(kit: StreamsKit): AnyElysia {
  const { keyed } = keyedRoutes(kit);
  return new Elysia().get(
    '/api/session/:id/timeline',
    keyed(async ({ request, params: { id = '' }, principal: { accountId } }) => {
      const session = await windowOf(await sessionOf(accountId, { id, kit }), kit);
      const { pathname, searchParams } = new URL(request.url);
      const limit = limitOf(searchParams);
      const { entries, cursor } = await timelinePage(session, {
        ...{ cursor: searchParams.get('cursor'), limit, feed: kit.events },
        deliveries: kit.offered(deliveryLogs)[0],
      });
      const headers = new Headers();
      if (cursor !== undefined) {
        const next = new URLSearchParams({ limit: String(limit), cursor });
        headers.set('link', `<${kit.caller(request).baseUrl}${pathname}?${next}>; rel="next"`);
      }
      return Response.json(entries, { headers });
    }),
    says(
      'What happened in a session, oldest first: states, events, changes of health, and webhook deliveries. Events are kept for 24 h.',
      {
        name: 'getSessionTimeline',
        query,
        answers: {
          200: json(Type.Array(timelineEntrySchema), 'One page, a bare array.', {
            Link: Type.String({ description: 'URL of the next page, if there is one: `<url>; rel="next"`.' }),
          }),
        },
        faults: ['query.invalid', 'session.not_found'],
      },
    ),
  );
}

const query: Parameters = {
  limit: Type.Integer({ minimum: 1, maximum: maxPage, default: 20, description: 'Entries of one page.' }),
  cursor: Type.String({
    description: 'Start of the page, from the `Link` of the page before; only for the same session.',
  }),
};

/** What happens to the stream after a session, up to the next one, still belongs to it: its recording, and late deliveries. */
async function windowOf(
  { id, account, parentId, createdAt }: StreamDocument,
  { resources }: StreamsKit,
): Promise<TimelineSession> {
  const streamId = parentId ?? id;
  const [next] = await resources.list(stream.kind, {
    ...{ account, where: { role: 'session', parentId: streamId }, after: { createdAt, id }, limit: 1 },
    order: [{ by: 'createdAt', descending: false }],
  });
  return { id, account, streamId, from: createdAt, until: next?.createdAt ?? Number.POSITIVE_INFINITY };
}
