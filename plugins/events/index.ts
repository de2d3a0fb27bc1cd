import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { limitSchema } from '../../core/base/config-fields.ts';
import { Fault } from '../../core/base/fault.ts';
import { authenticator } from '../../core/http/auth.ts';
import { says } from '../../core/http/http.ts';
import { keyedRoutes } from '../../core/http/keyed.ts';
import { text } from '../../core/http/operation.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { knownEvents } from './contract.ts';
import { eventStream, eventStreamHeaders } from './event-stream.ts';
import { logRoute } from './log-route.ts';
import { refuseMisspelt, wantedQuery } from './wanted.ts';

/** `GET /api/events`: an account's events as they happen, as server-sent events; `GET /api/events/log`: those of the last 24 h. */
export default definePlugin({
  id: 'events',
  summary: 'the event stream',
  needs: [authenticator],
  config: Type.Object({
    maxStreams: limitSchema('Open event streams on this node. Further ones get 503 `events.too_many`.', {
      default: 1000,
      unit: 'event streams',
    }),
    maxStreamsOfAccount: limitSchema(
      'Open event streams of one account on this node. Further ones of that account get 503 `events.too_many`.',
      { default: 100, unit: 'event streams' },
    ),
  }),
  faults: {
    'events.gone': {
      status: 410,
      meaning: 'The event named by Last-Event-ID is unknown or older than 24 h.',
    },
    'events.too_many': {
      status: 503,
      meaning: 'Too many event streams are open, of all accounts or of this one.',
    },
  },
  routes(kit) {
    const keys = kit.use(authenticator);
    const { keyed } = keyedRoutes(kit);
    const { maxStreams, maxStreamsOfAccount } = kit.config;
    const known = knownEvents(kit.events.declared);
    let open = 0;
    const openOf = new Map<string, number>();
    const count = (account: string, change: 1 | -1) => {
      open += change;
      const own = (openOf.get(account) ?? 0) + change;
      if (own === 0) openOf.delete(account);
      else openOf.set(account, own);
    };
    const stream = new Elysia().get(
      '/api/events',
      keyed(async ({ request, principal }) => {
        const { accountId } = principal;
        const query = new URL(request.url).searchParams;
        const type = query.get('type');
        refuseMisspelt(type, known);
        const lastId = request.headers.get('last-event-id');
        const from = lastId === null ? undefined : await kit.events.position(lastId, { account: accountId });
        if (lastId !== null && from === undefined) {
          throw new Fault('events.gone', {
            status: 410,
            message: 'The event that Last-Event-ID names is unknown or older than 24 h.',
          });
        }
        if (request.method === 'HEAD') return new Response(null, { headers: eventStreamHeaders });
        if (open >= maxStreams) throw tooMany(`${maxStreams} event streams are open already.`);
        if ((openOf.get(accountId) ?? 0) >= maxStreamsOfAccount) {
          throw tooMany(
            `This account has ${maxStreamsOfAccount} event streams open already. Close some first.`,
          );
        }
        count(accountId, 1);
        const revoked = new AbortController();
        const unwatch = keys.onRevoked(principal, () => revoked.abort());
        return eventStream({
          feed: kit.events,
          clock: kit.clock,
          account: accountId,
          type,
          streamId: query.get('streamId'),
          from,
          signals: [request.signal, kit.signal, revoked.signal],
          onEnd: () => {
            count(accountId, -1);
            unwatch();
          },
        });
      }),
      says("The account's events as they happen, as server-sent events.", {
        name: 'streamEvents',
        query: wantedQuery,
        headers: {
          'Last-Event-ID': Type.String({
            description: 'The last event seen: the stream starts after it. Events are kept for 24 h.',
          }),
        },
        answers: {
          200: text(
            ['text/event-stream'],
            'Endless. `data` of each event is JSON: `{"id", "createdAt", "timestamp", "event", "stream"}`.',
          ),
        },
        faults: ['events.gone', 'events.too_many', 'query.invalid'],
      }),
    );
    return stream.use(logRoute(kit, { known }));
  },
});

function tooMany(message: string): Fault {
  return new Fault('events.too_many', { status: 503, message, retryAfter: 5 });
}
