import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../core/base/fault.ts';
import { maxNameLength } from '../../core/base/name.ts';
import { object } from '../../core/base/schema.ts';
import { authenticate, authenticator } from '../../core/http/auth.ts';
import { says } from '../../core/http/http.ts';
import { idempotent } from '../../core/http/idempotency.ts';
import { json } from '../../core/http/operation.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { assetNotFound, assetNotReady, assets, orderFaults } from '../assets/contract.ts';
import { checkProfile, transcodeBody } from './body.ts';
import { problemOf } from './kind.ts';

/** `POST /api/asset/:id/transcode`: makes a new asset from another, by a task. */
export function routes(kit: Kit): AnyElysia {
  const keys = kit.use(authenticator);
  const made = kit.use(assets);
  const once = idempotent(kit);
  return new Elysia().post(
    '/api/asset/:id/transcode',
    async ({ request, params: { id: inputAssetId } }) => {
      const principal = await authenticate(request, keys);
      return once(request, {
        principal,
        run: async ({ id, caller }) => {
          const { accountId: account, keyName: createdByTokenName } = principal;
          const input = await made.find(inputAssetId);
          // Before the body: another account's asset is 404, whatever is sent.
          if (input?.account !== account) throw assetNotFound(inputAssetId);
          const body = await transcodeBody.read(request);
          checkProfile(body);
          if (input.status !== 'ready' || !input.file) throw assetNotReady(input);
          const problem = problemOf(input.file.spec);
          if (problem !== undefined) throw new Fault('transcode.refused', { status: 422, message: problem });
          const { profile, name = nameOf(input, profile) } = body;
          const source = { type: 'transcode', inputAssetId } as const;
          const given = { id, account, name, source, createdByTokenName, params: { profile } };
          return Response.json(await made.order(given, caller), { status: 201 });
        },
      });
    },
    says(
      'Transcodes an asset with a profile into a new asset. Answers 201 with the new asset and the task that makes it; the task shows the progress.',
      {
        name: 'transcodeAsset',
        body: transcodeBody,
        answers: {
          201: json(object(made.ordered), 'The new asset, which waits, and the task.'),
        },
        faults: ['asset.not_ready', 'transcode.refused', ...orderFaults],
      },
    ),
  );
}

/** The name of an asset that was given none. */
function nameOf({ name }: { readonly name: string }, profile: { readonly name: string }): string {
  return [...`${name} (${profile.name})`].slice(0, maxNameLength).join('');
}
