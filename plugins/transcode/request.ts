import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../core/base/fault.ts';
import { maxNameLength } from '../../core/base/name.ts';
import { idOrNone } from '../../core/base/secrets.ts';
import { authenticate, authenticator } from '../../core/http/auth.ts';
import { says } from '../../core/http/http.ts';
import { idempotent } from '../../core/http/idempotency.ts';
import { json } from '../../core/http/operation.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { type Assets, assets, transcodeTaskOf } from '../assets/contract.ts';
import { taskSchema, tasks } from '../tasks/contract.ts';
import { checkProfile, transcodeBody } from './body.ts';
import { deadlineOf, lateMessage, problemOf, secretOf } from './kind.ts';

/** `POST /api/asset/:id/transcode`: makes a new asset from another, by a task. */
export function routes(kit: Kit): AnyElysia {
  const keys = kit.use(authenticator);
  const once = idempotent(kit);
  return new Elysia().post(
    '/api/asset/:id/transcode',
    async ({ request, params: { id: inputAssetId } }) => {
      const principal = await authenticate(request, keys);
      return once(request, {
        principal,
        run: async ({ id, caller }) => {
          const { accountId: account, keyName } = principal;
          const made = kit.use(assets);
          const input = await made.find(inputAssetId);
          // Before the body: another account's asset is 404, whatever is sent.
          if (input?.account !== account) throw notFound(inputAssetId);
          const body = await transcodeBody.read(request);
          checkProfile(body);
          if (input.status !== 'ready' || !input.file) throw notReady(input.status);
          const problem = problemOf(input.file.spec);
          if (problem !== undefined) throw new Fault('transcode.refused', { status: 422, message: problem });
          await made.admit(account);
          const { profile, name = nameOf(input, profile) } = body;
          const taskId = transcodeTaskOf(id);
          const by = { createdByTokenName: keyName };
          // The task first: if this request dies before the asset is made, the task makes it.
          await kit.use(tasks).spawn({
            ...{ id: taskId, account, type: 'transcode', name, inputAssetId, outputAssetId: id, ...by },
            ...{ params: { profile }, secret: secretOf(by), deadline: deadlineOf(kit), lateMessage },
          });
          const source = { type: 'transcode', inputAssetId } as const;
          await made.begin({ id, account, name, source, ...by });
          const asset = await made.show(id, caller);
          if (!asset) throw notFound(id);
          return Response.json({ asset, task: await kit.use(tasks).show(taskId) }, { status: 201 });
        },
      });
    },
    says(
      'Transcodes an asset with a profile into a new asset. Answers 201 with the new asset and the task that makes it; the task shows the progress.',
      {
        name: 'transcodeAsset',
        body: transcodeBody,
        answers: { 201: json(answerSchema(kit.use(assets)), 'The new asset, which waits, and the task.') },
        faults: [
          ...['asset.not_found', 'asset.not_ready', 'asset.too_many', 'transcode.refused', 'task.too_many'],
          ...['intake.full', 'intake.unavailable'],
        ],
      },
    ),
  );
}

const answerSchema = ({ schema }: Assets) =>
  Type.Object({ asset: schema, task: taskSchema }, { additionalProperties: false });

/** The name of an asset that was given none. */
function nameOf({ name }: { readonly name: string }, profile: { readonly name: string }): string {
  return [...`${name} (${profile.name})`].slice(0, maxNameLength).join('');
}

function notFound(id: string): Fault {
  return new Fault('asset.not_found', { status: 404, message: `There is no asset ${idOrNone(id)}.` });
}

function notReady(status: string): Fault {
  const message =
    status === 'failed'
      ? 'The asset failed: there is no film to transcode.'
      : 'The asset has no file yet. Transcode it when it is ready.';
  return new Fault('asset.not_ready', { status: 409, message });
}
