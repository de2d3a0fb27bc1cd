import { type AnyElysia, Elysia } from 'elysia';
import { says } from '../../core/http/http.ts';
import { type Call, keyedRoutes } from '../../core/http/keyed.ts';
import { listAnswer, listParameters, resourceList } from '../../core/http/list.ts';
import { flagSchema, json } from '../../core/http/operation.ts';
import { type FilterField, filterBy, flagOf, invalidQuery } from '../../core/http/query.ts';
import type { ListScope } from '../../core/ports/store.ts';
import type { StreamsKit } from './config.ts';
import { stream } from './contract.ts';
import { activeIndex, documentOf, owned, type StreamDocument } from './document.ts';
import { sessionNotFound } from './faults.ts';
import { presenter } from './present.ts';
import { streamSchema } from './schema.ts';

/** Lists of streams and sessions, and single sessions. */
export function listRoutes(kit: StreamsKit): AnyElysia {
  const extended = kit.resources.fields(stream);
  const { keyed } = keyedRoutes(kit);
  const fields = { ...filterFields, ...extended.filterable('fields') };
  const list = resourceList({
    kind: 'stream',
    fields,
    caller: kit.caller,
    resources: kit.resources,
    parameters: ['streamsonly', 'sessionsonly', 'active', 'record'],
  });
  const derived = kit.resources.derived(stream);
  const shown = streamSchema(extended, derived);
  const query = listParameters(fields);
  const shownNow = presenter(kit);
  const listOf = ({ request, principal }: Call, scope: Pick<ListScope, 'where' | 'filters'>) =>
    list(request, {
      ...{ ...scope, account: principal.accountId },
      present: (row, caller) => shownNow(documentOf(row), { caller, principal }),
    });

  return new Elysia()
    .get(
      '/api/stream',
      keyed((call) => listOf(call, { where: wanted(new URL(call.request.url).searchParams) })),
      says('Lists streams and sessions, newest first.', {
        name: 'listStreams',
        query: {
          ...query,
          streamsonly: flagSchema('No sessions.'),
          sessionsonly: flagSchema('Only sessions.'),
          active: flagSchema('Only what is on the air.'),
        },
        answers: { 200: listAnswer(shown) },
        faults: ['query.invalid'],
      }),
    )
    .get(
      '/api/stream/:id/sessions',
      keyed(async (call) => {
        const { id } = await owned(call.principal, { id: call.params.id, kit });
        return listOf(call, { where: { parentId: id }, filters: recordFilters(call.request, fields) });
      }),
      says('Lists the sessions of a stream, newest first.', {
        name: 'listStreamSessions',
        query: {
          ...query,
          ...(Object.hasOwn(fields, 'record') && {
            record: flagSchema('1: only recorded sessions, 0: only others.'),
          }),
        },
        answers: { 200: listAnswer(shown) },
        faults: ['query.invalid', 'stream.not_found'],
      }),
    )
    .get(
      '/api/session',
      keyed((call) => listOf(call, { where: { role: 'session' } })),
      says('Lists the sessions of all streams, newest first.', {
        name: 'listSessions',
        query,
        answers: { 200: listAnswer(shown) },
        faults: ['query.invalid'],
      }),
    )
    .get(
      '/api/session/:id',
      keyed(async ({ request, params: { id }, principal }) => {
        const document = await sessionOf(principal.accountId, { id, kit });
        return Response.json(await shownNow(document, { caller: kit.caller(request), principal }));
      }),
      says('One session.', {
        name: 'getSession',
        answers: { 200: json(shown, 'The session.') },
        faults: ['session.not_found'],
      }),
    );
}

/** Parameter `record`: the field is there while a plugin records. */
function recordFilters({ url }: Request, fields: Readonly<Record<string, FilterField>>) {
  const record = flagOf(new URL(url).searchParams, 'record');
  if (record !== undefined && !Object.hasOwn(fields, 'record')) throw invalidQuery('record: unknown field');
  return record === undefined ? [] : [filterBy('record', { value: record, fields })];
}

/** Fault `session.not_found` (404). */
export async function sessionOf(
  account: string,
  { id, kit }: { id: string; kit: StreamsKit },
): Promise<StreamDocument> {
  const row = await kit.resources.get(stream.kind, id);
  const document = row?.account === account ? documentOf(row) : undefined;
  if (!document || document.parentId === null) throw sessionNotFound(id);
  return document;
}

/** Fields of the stream object by which lists are filtered, as the object shows them. */
const filterFields: Readonly<Record<string, FilterField>> = {
  id: { type: 'string' },
  name: { type: 'string' },
  isActive: { type: 'boolean', trueIndex: activeIndex },
  createdAt: { type: 'number', isSeconds: true },
  parentId: { type: 'string' },
  playbackId: { type: 'string' },
  suspended: { type: 'boolean' },
  userId: { type: 'string', path: ['account'] },
};

function wanted(query: URLSearchParams): Record<string, string> {
  const [streams, sessions, onAir] = ['streamsonly', 'sessionsonly', 'active'].map((name) =>
    flagOf(query, name),
  );
  if (streams && sessions) throw invalidQuery('streamsonly, sessionsonly: expected one of them at most');
  return {
    ...(streams && { role: 'parent' }),
    ...(sessions && { role: 'session' }),
    ...(onAir && activeIndex),
  };
}
