import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../core/base/fault.ts';
import { nameSchema } from '../../core/base/name.ts';
import { optional } from '../../core/base/schema.ts';
import { bodyReader } from '../../core/http/body.ts';
import { says } from '../../core/http/http.ts';
import type { Attempt } from '../../core/http/idempotency.ts';
import { type Call, keyedRoutes } from '../../core/http/keyed.ts';
import { listAnswer, listParameters, resourceList } from '../../core/http/list.ts';
import { json, nothing } from '../../core/http/operation.ts';
import type { MultistreamKit } from './config.ts';
import { kind, sealedUrl, type Target, targetSchema, targetsOf, urlProblem, urlSchema } from './target.ts';

const changes = {
  name: Type.Optional(nameSchema('My channel')),
  url: Type.Optional(urlSchema),
  disabled: optional.boolean(),
};
const readOnly = ['id', 'createdAt'];
const creation = bodyReader({ ...changes, url: urlSchema }, { readOnly });
const change = bodyReader(changes, { readOnly });

/** `/api/multistream/target`: create, read, change, delete. */
export function routes(kit: MultistreamKit): AnyElysia {
  const { keyed, once } = keyedRoutes(kit);
  const fields = {
    id: { type: 'string' },
    name: { type: 'string' },
    disabled: { type: 'boolean', absent: false },
    createdAt: { type: 'number' },
  } as const;
  const list = resourceList({ kind, fields, caller: kit.caller, resources: kit.resources });

  return new Elysia()
    .post(
      '/api/multistream/target',
      once((call) => createTarget(call, kit)),
      says('Creates a multistream target. 201 with the target; its URL is never shown again.', {
        name: 'createTarget',
        body: creation,
        answers: { 201: json(targetSchema, 'The target.') },
        faults: ['multistream.invalid', 'target.too_many'],
      }),
    )
    .get(
      '/api/multistream/target',
      keyed(({ request, principal: { accountId: account } }) =>
        list(request, { account, present: (row) => present(JSON.parse(row.body) as Target) }),
      ),
      says('Lists multistream targets; parameters as for streams.', {
        name: 'listTargets',
        query: listParameters(fields),
        answers: { 200: listAnswer(targetSchema) },
        faults: ['query.invalid'],
      }),
    )
    .get(
      '/api/multistream/target/:id',
      keyed(async ({ params, principal }) =>
        Response.json(present(await targetsOf(principal, kit).get(params.id))),
      ),
      says('One multistream target.', {
        name: 'getTarget',
        answers: { 200: json(targetSchema, 'The target.') },
        faults: ['target.not_found'],
      }),
    )
    .patch(
      '/api/multistream/target/:id',
      keyed((call) => changeTarget(call, kit)),
      says('Changes the fields of a multistream target that the body names. 204.', {
        name: 'changeTarget',
        body: change,
        answers: { 204: nothing },
        faults: ['target.not_found', 'target.busy', 'multistream.invalid'],
      }),
    )
    .delete(
      '/api/multistream/target/:id',
      keyed(async ({ params, principal }) => {
        await targetsOf(principal, kit).remove(params.id);
        return new Response(null, { status: 204 });
      }),
      says('Deletes a multistream target. 204.', {
        name: 'deleteTarget',
        answers: { 204: nothing },
        faults: ['target.not_found', 'target.busy'],
      }),
    );
}

async function createTarget(
  { request, principal, id, isRepeat }: Call & Attempt,
  kit: MultistreamKit,
): Promise<Response> {
  const own = targetsOf(principal, kit);
  const body = await creation.read(request);
  checkUrl(body.url);
  const made = isRepeat ? await own.find(id) : undefined;
  const target = made ?? (await own.create([{ ...body, id }]))[0];
  return Response.json(present(target), { status: 201 });
}

async function changeTarget({ request, params, principal }: Call, kit: MultistreamKit): Promise<Response> {
  const own = targetsOf(principal, kit);
  // Before the body is read: for a target of another account the answer is 404 whatever the body is.
  await own.get(params.id);
  const body = await change.read(request);
  if (body.url !== undefined) checkUrl(body.url);
  const { url, ...rest } = body;
  const sealed = url === undefined ? {} : { url: sealedUrl(params.id, { url, kit }) };
  const changed = { ...rest, ...sealed };
  if (Object.keys(changed).length > 0) await own.change(params.id, (before) => ({ ...before, ...changed }));
  return new Response(null, { status: 204 });
}

function present({ id, name, createdAt, disabled }: Target): Record<string, unknown> {
  return { id, name, createdAt, ...(disabled && { disabled }) };
}

function checkUrl(url: string): void {
  const problem = urlProblem(url);
  if (problem) throw new Fault('multistream.invalid', { status: 400, message: `url: ${problem}` });
}
