import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { addressBits } from '../../core/base/cidr.ts';
import { Fault } from '../../core/base/fault.ts';
import { object, optional } from '../../core/base/schema.ts';
import type { Principal } from '../../core/http/auth.ts';
import { bodyReader } from '../../core/http/body.ts';
import { says } from '../../core/http/http.ts';
import { keyedRoutes } from '../../core/http/keyed.ts';
import { json, nothing } from '../../core/http/operation.ts';
import type { PlaySubject } from '../../core/plugin/decide.ts';
import { findByName } from '../../core/vod/aliases.ts';
import { playableFinder, playables, playbackAliases } from '../playback/contract.ts';
import { audiences } from './audience.ts';
import type { ProtectionKit } from './config.ts';
import { countryOf } from './countries.ts';
import { isMisfit, judge } from './judge.ts';
import { viewerHash } from './pass.ts';
import { idOf, protectionOf } from './play.ts';
import { revoke } from './revocations.ts';
import { bindingOf, type Watched } from './watched.ts';

/** Characters of the `viewer` of a token. */
export const maxViewer = 128;
/** Characters of a token. */
const maxToken = 4096;
/** How long a token of the owner is good for, ms. */
const ownerLife = 3_600_000;

const revokeBody = bodyReader({
  viewer: optional.string({
    minLength: 1,
    maxLength: maxViewer,
    description: 'The `viewer` of its token. Absent: everybody who was let in so far.',
    examples: ['user-4711'],
  }),
});

const checkBody = bodyReader({
  token: optional.string({ maxLength: maxToken, description: 'As the player sends it.' }),
  origin: optional.string({
    maxLength: 255,
    description: 'Origin of the page that plays.',
    examples: ['https://www.example.com'],
  }),
  ip: optional.string({ maxLength: 64, description: 'Address of the viewer.', examples: ['192.0.2.7'] }),
});

const checkAnswer = object(
  {
    allowed: Type.Boolean(),
    rule: optional.string({
      description: 'What refuses it, for programs.',
      examples: ['token.expired'],
    }),
    reason: optional.string({
      description: 'The same in one sentence.',
      examples: ['The token has expired.'],
    }),
  },
  { $id: 'PlaybackCheck' },
);

const tokenAnswer = object(
  {
    token: Type.String({ description: 'Goes behind `?token=` in URLs of this video.' }),
    expiresAt: Type.Integer({ description: 'Epoch ms.', examples: [1_767_229_200_000] }),
  },
  { $id: 'PlaybackToken' },
);

const path = { id: Type.String({ examples: ['6pukxh2m0ydr9h3q'] }) };

/** For owners: who may watch, why not, and who may no longer. */
export function protectionRoutes(kit: ProtectionKit): AnyElysia {
  const { keyed, once } = keyedRoutes(kit);
  const find = ownFinder(kit);
  return new Elysia()
    .post(
      '/api/playback/:id/revoke',
      once(
        async ({ request, params: { id = '' }, principal }) => {
          const subject = await find(id, { request, principal });
          const { viewer } = await revokeBody.read(request);
          const name = nameOf(subject);
          const { watched } = protectionOf(kit);
          if (viewer !== undefined) checkNamed(await watched.of(subject));
          await revoke({ name, account: principal.accountId, viewer }, kit);
          watched.forget(subject);
          return new Response(null, { status: 204 });
        },
        { isAudited: true },
      ),
      says('Ends playback of a viewer, or of everybody who was let in so far, within 5 s. 204.', {
        name: 'revokePlayback',
        path,
        body: revokeBody,
        answers: { 204: nothing },
        faults: ['protection.not_found', 'playback.too_many_revoked'],
      }),
    )
    .post(
      '/api/playback/:id/check',
      once(async ({ request, params: { id = '' }, principal }) => {
        const subject = await find(id, { request, principal });
        return Response.json(await check(subject, { asked: await checkBody.read(request), kit }));
      }),
      says(
        'Says whether a viewer with this token, origin and address may watch, and if not, what refuses it. The webhook of a policy is asked.',
        {
          name: 'checkPlayback',
          path,
          body: checkBody,
          answers: { 200: json(checkAnswer, 'Whether it may.') },
          faults: ['protection.not_found'],
        },
      ),
    )
    .get(
      '/api/playback/:id/token',
      keyed(async ({ request, params: { id = '' }, principal }) => {
        const subject = await find(id, { request, principal });
        return Response.json(await ownerToken(subject, { principal, kit }), {
          headers: { 'cache-control': 'no-store' },
        });
      }),
      says(
        'A token with which the owner can watch a video of its own for an hour, whatever the policy asks of viewers, but only where its origins, countries and blocks allow.',
        {
          name: 'getPlaybackToken',
          path,
          answers: { 200: json(tokenAnswer, 'The token.') },
          faults: ['protection.not_found'],
        },
      ),
    );
}

type Finder = (id: string, of: { request: Request; principal: Principal }) => Promise<PlaySubject>;

/** What is watched under an id, if it is the caller's. Fault `protection.not_found` (404), also for one that cannot be watched yet. */
function ownFinder(kit: ProtectionKit): Finder {
  const find = playableFinder(kit.offered(playables));
  const byName = findByName({ aliases: kit.offered(playbackAliases), clock: kit.clock });
  return async (id, { request, principal }) => {
    const found = await byName(id, (one) => find(one, kit.caller(request))).catch((error: unknown) => {
      if (error instanceof Fault && error.status === 404) throw notFound(error.message);
      throw error;
    });
    const subject = found?.subject;
    if (subject?.account !== principal.accountId)
      throw notFound(`There is nothing of this account to watch under the id ${id.slice(0, 64)}.`);
    return subject;
  };
}

function notFound(message: string): Fault {
  return new Fault('protection.not_found', { status: 404, message });
}

/** Fault `body.invalid` (422): a webhook does not say who a viewer is. */
function checkNamed({ policy }: Watched): void {
  if (policy?.type !== 'webhook') return;
  const message =
    'viewer: viewers that a webhook lets in have no names here; revoke everybody, and let the webhook refuse this one';
  throw new Fault('body.invalid', { status: 422, message });
}

/** What viewers are revoked by: a recording has the id of its session. */
function nameOf(subject: PlaySubject): string {
  return (subject.kind === 'recording' ? subject.sessionId : undefined) ?? idOf(subject);
}

async function check(
  subject: PlaySubject,
  {
    asked: { token, origin, ip },
    kit,
  }: { asked: { token?: string; origin?: string; ip?: string }; kit: ProtectionKit },
): Promise<{ allowed: boolean; rule?: string; reason?: string }> {
  if (ip !== undefined && addressBits(ip) === undefined)
    throw new Fault('body.invalid', { status: 422, message: 'ip: expected an IP address such as 192.0.2.7' });
  const { court, watched } = protectionOf(kit);
  const judgement = await judge(
    await watched.of(subject),
    {
      ...{ what: 'playlist', file: 'index.m3u8', userAgent: undefined, token, origin, address: ip },
      ...{ binding: bindingOf(subject), id: idOf(subject) },
      ownOrigins: [new URL(kit.deployment.publicUrl).origin],
      country: countryOf(ip, kit),
    },
    court,
  );
  return isMisfit(judgement) ? { allowed: false, ...judgement } : { allowed: true };
}

async function ownerToken(
  subject: PlaySubject,
  { principal: { keyId = '' }, kit }: { principal: Principal; kit: ProtectionKit },
): Promise<{ token: string; expiresAt: number }> {
  const { court, watched } = protectionOf(kit);
  const { digest, revocations } = await watched.of(subject);
  const expiresAt = Math.floor((court.now() + ownerLife) / 1000);
  const viewer = viewerHash(`owner ${keyId}`);
  const pass = { known: revocations.latest, expiresAt, digest, keyId, viewer };
  const token = court.passes.write({ ...pass, audience: audiences, isOwner: true }, bindingOf(subject));
  return { token, expiresAt: expiresAt * 1000 };
}
