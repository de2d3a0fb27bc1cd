import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../core/base/fault.ts';
import { uuid } from '../../core/base/ids.ts';
import { object, oneOf } from '../../core/base/schema.ts';
import { idOrNone } from '../../core/base/secrets.ts';
import { notAllowed, type Principal } from '../../core/http/auth.ts';
import { says } from '../../core/http/http.ts';
import { keyedRoutes } from '../../core/http/keyed.ts';
import { listAnswer, listParameters, resourceList } from '../../core/http/list.ts';
import { idSchema, json, momentSchema, nothing } from '../../core/http/operation.ts';
import { deletedRow } from '../../core/plugin/deleted-row.ts';
import {
  parkedReactionKind as kind,
  type ParkedReaction,
  type ReactionOrder,
  reactionOrders,
} from '../../core/plugin/parked-reaction.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import type { EventWrite, StoredResource } from '../../core/ports/store.ts';

export const reactionFaults = {
  'reaction.not_found': { status: 404, meaning: 'There is no reaction of this id that fails or is parked.' },
  'reaction.not_parked': {
    status: 409,
    meaning: 'The reaction is not parked: it is still tried again by itself.',
  },
  'reaction.busy': {
    status: 409,
    meaning: 'The reaction is being tried at this moment; nothing was changed. Try again.',
  },
};

const fields = {
  id: { type: 'string' },
  plugin: { type: 'string' },
  status: { type: 'string' },
  error: { type: 'string' },
  tries: { type: 'number' },
} as const;

/** `/api/system/reactions`: reactions of plugins that fail for long, for the admin account. */
export function reactionRoutes(kit: Kit): AnyElysia {
  const { resources, caller } = kit;
  const { keyed, once } = keyedRoutes(kit);
  const list = resourceList({ kind, fields, caller, resources });
  return new Elysia()
    .get(
      '/api/system/reactions',
      keyed(({ request, principal }) => {
        admit(principal);
        return list(request, { present: ({ body }) => shown(JSON.parse(body)) });
      }),
      says(
        'Lists reactions of plugins that fail for more than a minute, or are parked; only for keys of the admin account.',
        {
          name: 'listReactions',
          query: listParameters(fields),
          answers: { 200: listAnswer(reactionSchema) },
          faults: ['query.invalid'],
        },
      ),
    )
    .get(
      '/api/system/reactions/:id',
      keyed(async ({ params, principal }) => {
        admit(principal);
        return Response.json(shown((await found(params.id, kit)).reaction));
      }),
      says('A reaction that fails or is parked; only for keys of the admin account.', {
        name: 'getReaction',
        answers: { 200: json(reactionSchema, 'The reaction.') },
        faults: ['reaction.not_found'],
      }),
    )
    .post(
      '/api/system/reactions/:id/resume',
      once(async ({ params, principal }) => {
        admit(principal);
        const { reaction } = await parked(params.id, kit);
        await resources.write({ rows: [], events: [order(reactionOrders.resume, { reaction, kit })] });
        return new Response(null, { status: 204 });
      }),
      says(
        'Tries a parked reaction again, once, on the node that runs the reactions of its plugin. It is gone when it succeeds, and stays parked otherwise.',
        {
          name: 'resumeReaction',
          answers: { 204: nothing },
          faults: ['reaction.not_found', 'reaction.not_parked'],
        },
      ),
    )
    .delete(
      '/api/system/reactions/:id',
      keyed(async ({ params, principal }) => {
        admit(principal);
        const { reaction, row } = await parked(params.id, kit);
        const rows = [deletedRow(kind, row)];
        const events = [order(reactionOrders.forget, { reaction, kit })];
        if ((await resources.write({ rows, events })) === 'ok') return new Response(null, { status: 204 });
        const message = `The reaction ${row.id} is being tried at this moment; nothing was changed. Try again.`;
        throw new Fault('reaction.busy', { status: 409, message });
      }),
      says('Gives a parked reaction up: it is never tried again.', {
        name: 'deleteReaction',
        answers: { 204: nothing },
        faults: ['reaction.not_found', 'reaction.not_parked', 'reaction.busy'],
      }),
    );
}

const reactionSchema = object(
  {
    id: idSchema,
    plugin: Type.String({ description: 'Id of the plugin that reacts.', examples: ['webhooks'] }),
    status: oneOf(['failing', 'parked'], {
      description:
        '`failing`: it is tried again by itself, and later events of its stream wait. `parked`: neither; resume or delete it.',
      examples: ['parked'],
    }),
    event: object({
      id: Type.String({ examples: ['d3.17/0/stream.started'] }),
      type: Type.String({ examples: ['stream.started'] }),
      account: Type.String({ description: 'Empty for events between plugins.', examples: idSchema.examples }),
      stream: Type.String({ description: 'Empty where it is of no stream.', examples: idSchema.examples }),
    }),
    failedAt: momentSchema,
    parkedAt: Type.Optional(momentSchema),
    tries: Type.Integer({ examples: [1730] }),
    error: Type.String({ description: 'Of the last try.', examples: ['TypeError: a is undefined'] }),
  },
  { $id: 'Reaction' },
);

function shown({ id, plugin, status, event, failedAt, parkedAt, tries, error }: ParkedReaction) {
  const { id: eventId, type, account, stream } = event;
  return {
    ...{ id, plugin, status, event: { id: eventId, type, account, stream } },
    ...{ failedAt, ...(parkedAt !== undefined && { parkedAt }), tries, error },
  };
}

function admit({ isAdmin }: Principal): void {
  if (!isAdmin)
    throw notAllowed('only keys of the admin account can see and change the reactions of plugins');
}

async function found(
  id: string,
  { resources }: Kit,
): Promise<{ reaction: ParkedReaction; row: StoredResource }> {
  const row = await resources.get(kind, id);
  if (row) return { row, reaction: JSON.parse(row.body) as ParkedReaction };
  const message = `There is no reaction ${idOrNone(id)} that fails or is parked.`;
  throw new Fault('reaction.not_found', { status: 404, message });
}

async function parked(id: string, kit: Kit): ReturnType<typeof found> {
  const one = await found(id, kit);
  if (one.reaction.status === 'parked') return one;
  const message = `The reaction ${id} is not parked: it is still tried again by itself.`;
  throw new Fault('reaction.not_parked', { status: 409, message });
}

function order(
  type: string,
  { reaction: { id, plugin }, kit }: { reaction: ParkedReaction; kit: Kit },
): EventWrite {
  const body: ReactionOrder = { plugin, reaction: id };
  const at = kit.clock.now();
  const eventId = `${uuid()}/${type}`;
  const head = { id: eventId, createdAt: at, timestamp: at, event: type };
  return { id: eventId, type, account: '', stream: '', body: JSON.stringify({ ...head, ...body }) };
}
