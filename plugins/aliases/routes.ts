import {
  type AnyElysia,
  bodyReader,
  Elysia,
  Fault,
  json,
  keyedRoutes,
  listAnswer,
  listParameters,
  nothing,
  quota,
  resourceList,
  says,
} from '../../sdk/plugin.ts';
import {
  type Alias,
  aliasesOf,
  aliasKind,
  aliasSchema,
  documentOf,
  isKnown,
  isOwn,
  present,
  shownSchema,
  targetSchema,
} from './alias.ts';
import type { AliasesKit } from './config.ts';

/** `/api/alias`: create, list, read, delete. */
export function routes(kit: AliasesKit): AnyElysia {
  const { keyed, once } = keyedRoutes(kit);
  const body = bodyReader({ alias: aliasSchema, playbackId: targetSchema });
  const fields = { alias: { type: 'string', path: ['id'] }, playbackId: { type: 'string' } } as const;
  const list = resourceList({ kind: aliasKind, fields, caller: kit.caller, resources: kit.resources });
  const places = aliasPlaces(kit);
  return new Elysia()
    .post(
      '/api/alias',
      once(async ({ request, principal: { accountId: account } }) => {
        const { alias: id, playbackId } = await body.read(request);
        const known = await aliasesOf(account, kit).find(id);
        if (known?.playbackId === playbackId) return Response.json(present(known), { status: 201 });
        if (known || (await isKnown(id, kit))) throw taken();
        if (!(await isOwn(playbackId, { account, kit }))) throw noTarget();
        const alias = { id, account, name: '', playbackId, createdAt: kit.clock.now() };
        await places.making(account, () => make(alias, kit));
        return Response.json(present(alias), { status: 201 });
      }),
      says(
        'Lets a stream or asset be played by another id too, such as the one that it had on another platform. 201 with the alias, also if it exists already.',
        {
          name: 'createAlias',
          body,
          answers: { 201: json(shownSchema, 'The alias.') },
          faults: ['alias.taken', 'alias.no_target', 'alias.too_many'],
        },
      ),
    )
    .get(
      '/api/alias',
      keyed(({ request, principal: { accountId: account } }) =>
        list(request, { account, present: (row) => present(documentOf(row)) }),
      ),
      says('Lists aliases; parameters as for streams.', {
        name: 'listAliases',
        query: listParameters(fields),
        answers: { 200: listAnswer(shownSchema) },
        faults: ['query.invalid'],
      }),
    )
    .get(
      '/api/alias/:id',
      keyed(async ({ params, principal }) =>
        Response.json(present(await aliasesOf(principal.accountId, kit).get(params.id ?? ''))),
      ),
      says('One alias, by the alias itself.', {
        name: 'getAlias',
        answers: { 200: json(shownSchema, 'The alias.') },
        faults: ['alias.not_found'],
      }),
    )
    .delete(
      '/api/alias/:id',
      keyed(async ({ params, principal }) => {
        await aliasesOf(principal.accountId, kit).remove(params.id ?? '');
        places.gone(principal.accountId);
        return new Response(null, { status: 204 });
      }),
      says('Deletes an alias. It may be played for 10 s more. 204.', {
        name: 'deleteAlias',
        answers: { 204: nothing },
        faults: ['alias.not_found', 'alias.busy'],
      }),
    );
}

function aliasPlaces(kit: AliasesKit) {
  const { clock, config, resources } = kit;
  return quota({
    clock,
    most: config.max,
    count: (account) => resources.count(aliasKind, { account }),
    full: () =>
      new Fault('alias.too_many', {
        status: 409,
        message: `This account has ${config.max} aliases, the most it may have. Delete some first.`,
      }),
  });
}

/** Fault `alias.taken`: another account has it, or another request of this one was faster. */
async function make(alias: Alias, kit: AliasesKit): Promise<void> {
  const own = aliasesOf(alias.account, kit);
  if ((await own.create([alias])) === 'ok') return;
  if ((await own.find(alias.id))?.playbackId !== alias.playbackId) throw taken();
}

function taken(): Fault {
  return new Fault('alias.taken', {
    status: 409,
    message: 'This alias is taken: a stream, session or asset has this id, or it is an alias already.',
  });
}

function noTarget(): Fault {
  return new Fault('alias.no_target', {
    status: 422,
    message: 'playbackId: expected the playback id of a stream or asset of your account',
  });
}
