import {
  authenticator,
  bodyReader,
  definePlugin,
  Elysia,
  Fault,
  field,
  json,
  keyedRoutes,
  listAnswer,
  listParameters,
  nameSchema,
  nothing,
  object,
  plainResources,
  resourceList,
  says,
  stream,
  streams,
  Type,
} from 'millrace/plugin';
import { allPlugins, anotherAccount, world } from 'millrace/testing';
import { expect, it } from 'vitest';

const kind = 'cue-sheet';
const fields = { name: nameSchema('Evening'), pages: Type.Integer({ minimum: 1 }) };
const schema = object({ id: Type.String(), createdAt: Type.Number(), ...fields }, { $id: 'CueSheet' });
const body = bodyReader(fields);
interface Sheet {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly createdAt: number;
  readonly pages: number;
}
const shown = ({ account: _, ...sheet }: Sheet) => sheet;

const sheets = definePlugin({
  id: 'cue-sheets',
  summary: 'cue sheets of an account',
  contract: 3,
  needs: [authenticator],
  faults: { 'sheet.not_found': { status: 404, meaning: 'There is no such cue sheet.' } },
  routes(kit) {
    const { keyed, once } = keyedRoutes(kit);
    const own = (account: string) =>
      plainResources<Sheet>(
        {
          kind,
          notFound: () =>
            new Fault('sheet.not_found', { status: 404, message: 'There is no such cue sheet.' }),
          busy: () => new Fault('sheet.not_found', { status: 404, message: 'It is being changed.' }),
        },
        { account, resources: kit.resources },
      );
    const filters = { name: { type: 'string' }, pages: { type: 'number' } } as const;
    const list = resourceList({ kind, fields: filters, caller: kit.caller, resources: kit.resources });
    return new Elysia()
      .post(
        '/api/cue-sheet',
        once(async ({ request, principal: { accountId: account }, id }) => {
          const sheet = { id, account, createdAt: kit.clock.now(), ...(await body.read(request)) };
          await own(account).create([sheet]);
          return Response.json(shown(sheet), { status: 201 });
        }),
        says('Creates one.', { name: 'createSheet', body, answers: { 201: json(schema) } }),
      )
      .get(
        '/api/cue-sheet',
        keyed(({ request, principal: { accountId: account } }) =>
          list(request, { account, present: (row) => shown(JSON.parse(row.body)) }),
        ),
        says('Lists them.', {
          name: 'listSheets',
          query: listParameters(filters),
          answers: { 200: listAnswer(schema) },
          faults: ['query.invalid'],
        }),
      )
      .delete(
        '/api/cue-sheet/:id',
        keyed(async ({ params, principal }) => {
          await own(principal.accountId).remove(params.id);
          return new Response(null, { status: 204 });
        }),
        says('Deletes one.', { name: 'deleteSheet', answers: { 204: nothing }, faults: ['sheet.not_found'] }),
      );
  },
});

it('keeps documents with lists, filters and counts, each account its own', async () => {
  await using w = await world({ plugins: [...(await allPlugins()), sheets] });
  const made = [];
  for (const pages of [1, 2, 3])
    made.push((await w.request('POST', '/api/cue-sheet', { body: { name: `Sheet ${pages}`, pages } })).body);
  const filters = encodeURIComponent(JSON.stringify([{ id: 'pages', value: { gte: 2 } }]));
  const page = await w.request('GET', `/api/cue-sheet?filters=${filters}&count=1&limit=1&order=name-false`);
  expect([page.body, page.headers.get('x-total-count')]).toEqual([[made[1]], '2']);
  const next = /<([^>]+)>/.exec(page.headers.get('link') ?? '')?.[1] ?? '';
  expect((await w.request('GET', next.replace('http://localhost:8080', ''))).body).toEqual([made[2]]);
  const { key } = await anotherAccount(w);
  expect((await w.request('GET', '/api/cue-sheet', { key })).body).toEqual([]);
  expect((await w.request('DELETE', `/api/cue-sheet/${made[0].id}`, { key })).status).toBe(404);
  expect((await w.request('DELETE', `/api/cue-sheet/${made[0].id}`)).status).toBe(204);
  expect((await w.request('GET', '/api/cue-sheet')).body).toHaveLength(2);
});

const venue = definePlugin({
  id: 'venues',
  summary: 'where a stream is from',
  contract: 3,
  needs: [streams],
  faults: { 'venue.unknown': { status: 422, meaning: 'There is no such venue.' } },
  extends: [
    field(stream, 'venue', {
      schema: Type.String({ maxLength: 50, description: 'A venue.' }),
      initial: '',
      faults: ['venue.unknown'],
      validate(value) {
        if (value === 'Moon')
          throw new Fault('venue.unknown', { status: 422, message: 'venue: there is no Moon' });
      },
      issues: (value) => (value === 'Ruin' ? ['The venue is closed. Choose another.'] : []),
    }),
  ],
  derives: [
    {
      resource: stream,
      schemas: { venueUrl: Type.String({ description: 'A map.' }) },
      of: ({ venue }, { caller }) =>
        venue ? { values: { venueUrl: `${caller.baseUrl}/venues/${venue}` } } : undefined,
    },
  ],
});

it('adds fields to streams: stored and filtered, and derived', async () => {
  await using w = await world({ plugins: [...(await allPlugins()), venue] });
  const { id } = await w.given.stream({ venue: 'Arena' });
  await w.given.stream();
  const filters = encodeURIComponent(JSON.stringify([{ id: 'venue', value: 'aren' }]));
  const listed = await w.request('GET', `/api/stream?filters=${filters}`);
  expect(listed.body).toMatchObject([{ id, venue: 'Arena', venueUrl: 'http://localhost:8080/venues/Arena' }]);
  expect((await w.request('PATCH', `/api/stream/${id}`, { body: { venue: 'Moon' } })).body.code).toBe(
    'venue.unknown',
  );
  expect((await w.request('PATCH', `/api/stream/${id}`, { body: { venue: 'Ruin' } })).status).toBe(204);
  expect((await w.request('GET', `/api/stream/${id}`)).body).toMatchObject({
    venue: 'Ruin',
    issues: ['The venue is closed. Choose another.'],
  });
});
