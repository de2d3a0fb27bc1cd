import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { object } from '../../core/base/schema.ts';
import { says } from '../../core/http/http.ts';
import { keyedRoutes } from '../../core/http/keyed.ts';
import { json, momentSchema, type Parameters } from '../../core/http/operation.ts';
import { limitOf, maxPage } from '../../core/http/query.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { logPage } from './event-log.ts';
import { refuseMisspelt, wantedQuery } from './wanted.ts';

/** `GET /api/events/log`: what the event stream said in the last 24 h. */
export function logRoute(kit: Kit, { known }: { known: ReadonlySet<string> }): AnyElysia {
  const { keyed } = keyedRoutes(kit);
  return new Elysia().get(
    '/api/events/log',
    keyed(async ({ request, principal: { accountId } }) => {
      const { pathname, searchParams } = new URL(request.url);
      const [type, streamId] = [searchParams.get('type'), searchParams.get('streamId')];
      refuseMisspelt(type, known);
      const limit = limitOf(searchParams);
      const { body, cursor } = await logPage(
        { account: accountId, type, streamId },
        { feed: kit.events, cursor: searchParams.get('cursor'), limit },
      );
      const headers = new Headers({ 'content-type': 'application/json' });
      if (cursor !== undefined) {
        const next = new URLSearchParams({ limit: String(limit), cursor });
        if (type !== null) next.set('type', type);
        if (streamId !== null) next.set('streamId', streamId);
        headers.set('link', `<${kit.caller(request).baseUrl}${pathname}?${next}>; rel="next"`);
      }
      return new Response(body, { headers });
    }),
    says("The account's events of the last 24 h, newest first.", {
      name: 'listEvents',
      query: { ...wantedQuery, ...logQuery },
      answers: { 200: logAnswer },
      faults: ['query.invalid'],
    }),
  );
}

const logQuery: Parameters = {
  limit: Type.Integer({ minimum: 1, maximum: maxPage, default: 20, description: 'Events of one page.' }),
  cursor: Type.String({
    description: 'Start of the page, from the `Link` of the page before; only for the same type and stream.',
  }),
};

const eventSchema = object({
  id: Type.String({ description: 'As in the event stream.' }),
  createdAt: momentSchema,
  timestamp: momentSchema,
  event: Type.String({ examples: ['stream.started'] }),
  stream: Type.Optional(Type.Unknown({ description: 'The stream as it was then, if the event is of one.' })),
  payload: Type.Optional(Type.Unknown({ description: 'What the event is about; docs/api.md.' })),
});

const logAnswer = json(
  Type.Array(eventSchema),
  'One page, a bare array. It may be shorter than `limit`, also empty, though there is a next one.',
  { Link: Type.String({ description: 'URL of the next page, if there is one: `<url>; rel="next"`.' }) },
);
