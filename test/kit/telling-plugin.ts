import {
  authenticator,
  definePlugin,
  Elysia,
  json,
  keyedRoutes,
  object,
  says,
  Type,
} from '../../sdk/plugin.ts';

/** A plugin for tests of the whole program, named by its path in the config: `POST /tell {id, count}` emits events of its own. */
export default definePlugin({
  id: 'telling',
  contract: 3,
  summary: 'emits events of its own',
  needs: [authenticator],
  emits: { 'telling.told': { meaning: 'A test asked for it.', payload: { n: 1 } } },
  routes(kit) {
    const { keyed } = keyedRoutes(kit);
    return new Elysia().post(
      '/tell',
      keyed(async ({ request, principal: { accountId: account } }) => {
        const { id, count = 1 } = (await request.json()) as { id?: string; count?: number };
        const emit = (n: number) =>
          kit.events.emit({ type: 'telling.told', account, payload: { n }, ...(id && { id: `${id}/${n}` }) });
        return Response.json({
          outcomes: await Promise.all(Array.from({ length: count }, (_, n) => emit(n))),
        });
      }),
      says('Emits events.', {
        name: 'tell',
        answers: { 200: json(object({ outcomes: Type.Array(Type.String()) })) },
        faults: ['events.flooded'],
      }),
    );
  },
});
