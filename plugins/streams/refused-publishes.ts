import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { networkOf } from '../../core/base/network.ts';
import { object, oneOf, optional } from '../../core/base/schema.ts';
import { sideBySide } from '../../core/base/side-by-side.ts';
import { says } from '../../core/http/http.ts';
import { keyedRoutes } from '../../core/http/keyed.ts';
import { json, momentSchema } from '../../core/http/operation.ts';
import { token } from '../../core/plugin/token.ts';
import type { PublishRequest } from '../../core/ports/media.ts';
import type { StreamsKit } from './config.ts';

/** Kept on each node; the oldest go first. */
const most = 200;
/** ms: a node that does not answer is left out. */
const askTimeout = 2000;
const internal = '/internal/ingest/refused';
/** Shorter keys show nothing: four characters could be all of them. */
const shortestShown = 12;

/** Why a publish was refused. `not_allowed`: a plugin refused it. */
export type RefusalCause = (typeof causes)[number];

const causes = [
  ...(['unknown_key', 'missing_key', 'unknown_app'] as const),
  ...(['suspended', 'busy', 'not_allowed', 'unavailable'] as const),
];

/** A publish that was refused, without its key. */
export interface RefusedPublish {
  /** Epoch ms. */
  readonly at: number;
  readonly address: string;
  readonly app: string;
  readonly key?: string;
  readonly encoder?: string;
  readonly reason: RefusalCause;
  readonly message: string;
}

/** The last publishes that this node refused, in memory: a wrong key belongs to no account that could have them stored. */
export class RefusedPublishes {
  #list: RefusedPublish[] = [];

  /** Newest first. */
  get list(): readonly RefusedPublish[] {
    return this.#list;
  }

  note(
    { address, app, key, encoder }: PublishRequest,
    { reason, message, at }: Pick<RefusedPublish, 'reason' | 'message' | 'at'>,
  ): void {
    const shown = tailOf(key);
    // An unknown app may be a key in the wrong field.
    const ofApp = reason === 'unknown_app' ? (tailOf(app) ?? '') : app;
    const one = {
      ...{ at, address, app: ofApp, ...(shown !== undefined && { key: shown }) },
      ...{ ...(encoder !== undefined && { encoder }), reason, message },
    };
    this.#list = [one, ...this.#list.slice(0, most - 1)];
  }
}

export const refusedPublishes = token<RefusedPublishes>('streams.refused-publishes');

/** The last four characters, so that a person recognises their key. */
function tailOf(secret: string): string | undefined {
  if (secret === '') return undefined;
  return secret.length < shortestShown ? '••••' : `••••${secret.slice(-4)}`;
}

/** `/api/ingest/refused`: those of the caller's address; for keys of the admin account all. */
export function refusedRoute(kit: StreamsKit): AnyElysia {
  const { keyed } = keyedRoutes(kit);
  return new Elysia().get(
    '/api/ingest/refused',
    keyed(async ({ request, principal }) => {
      const { address = '' } = kit.caller(request);
      const shown = (await refusedEverywhere(kit, request.signal))
        .map((one) => ({ ...one, isYours: isSamePlace(one.address, address) }))
        .filter(({ isYours }) => isYours || principal.isAdmin);
      return Response.json(shown.slice(0, most));
    }),
    says(
      'The last refused publishes, newest first: those from the address of the caller, and all of them for keys of the admin account.',
      {
        name: 'listRefusedPublishes',
        answers: { 200: json(Type.Array(refusedSchema), 'At most 200, a bare array.') },
      },
    ),
  );
}

/** For other nodes alone. */
export function internalRefused(kit: Pick<StreamsKit, 'use'>): AnyElysia {
  return new Elysia().get(internal, () => Response.json(kit.use(refusedPublishes).list));
}

/** Newest first. Encoders and clients may be at different nodes. */
async function refusedEverywhere(kit: StreamsKit, signal: AbortSignal): Promise<RefusedPublish[]> {
  const { nodes, isAlone } = kit.deployment;
  const all: RefusedPublish[] = [...kit.use(refusedPublishes).list];
  const others = isAlone
    ? []
    : (await nodes.list()).filter(
        ({ id, roles, isAlive }) => isAlive && id !== nodes.own.id && roles.includes('media'),
      );
  await sideBySide(others, async ({ id }) => {
    try {
      const answer = await nodes.request(id, internal, { signal, timeout: askTimeout });
      if (answer.ok) all.push(...((await answer.json()) as RefusedPublish[]));
    } catch {
      // What the others know is of use without it.
    }
  });
  return all.sort((a, b) => b.at - a.at);
}

/** Machines of one household have one IPv4 address, or one /64 of IPv6; those of one machine may take different loopback addresses. */
function isSamePlace(one: string, other: string): boolean {
  return networkOf(one) === networkOf(other) || (isLoopback(one) && isLoopback(other));
}

function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.');
}

const refusedSchema = object(
  {
    at: momentSchema,
    address: Type.String({ description: 'Of the encoder.', examples: ['192.0.2.7'] }),
    app: Type.String({
      description: 'Of the URL. Of one that the server does not have, only the end: it may be a stream key.',
      examples: ['live'],
    }),
    key: optional.string({
      description: 'The last four characters of the stream key that was tried. Absent: there was none.',
      examples: ['••••3f9a'],
    }),
    encoder: optional.string({ description: 'What the encoder calls itself.', examples: ['OBS 31.0'] }),
    reason: oneOf(causes, {
      description:
        'Why it was refused. `unavailable`: the server could not check the key, and the encoder may try again. `not_allowed`: a plugin refuses it.',
    }),
    message: Type.String({
      description: 'What the encoder was told.',
      examples: [
        'This stream key is unknown. Copy the streamKey of the stream again: it may have been rotated.',
      ],
    }),
    isYours: Type.Boolean({
      description: 'It came from the address of the caller, or from the same /64 of IPv6.',
      examples: [true],
    }),
  },
  { $id: 'RefusedPublish' },
);
