import { type AnyElysia, Elysia } from 'elysia';
import { Fault, hasCode } from '../../../core/base/fault.ts';
import { markAudited } from '../../../core/http/audit.ts';
import type { Principal } from '../../../core/http/auth.ts';
import { bodyReader } from '../../../core/http/body.ts';
import type { Caller } from '../../../core/http/caller.ts';
import { says } from '../../../core/http/http.ts';
import { keyedRoutes } from '../../../core/http/keyed.ts';
import { listAnswer, listParameters, resourceList } from '../../../core/http/list.ts';
import { json, nothing } from '../../../core/http/operation.ts';
import { type Quota, quota } from '../../../core/http/quota.ts';
import type { FieldValues } from '../../../core/plugin/resource.ts';
import type { StoredResource } from '../../../core/ports/store.ts';
import type { AssetsKit } from '../config.ts';
import { assetNotFound, assetResource } from '../contract.ts';
import { importRoute } from '../imports/request.ts';
import { tusRoutes } from '../tus/routes.ts';
import { putRoute } from '../uploads/put.ts';
import { requestRoute } from '../uploads/request.ts';
import { uploadUrls } from '../uploads/url.ts';
import { asset } from './asset.ts';
import { type AssetDocument, assetKind, assetOf, assetRow } from './document.ts';
import { ownChangeable, shownAsset } from './present.ts';
import { videoRoutes } from './video.ts';

/** `/api/asset`: list, read, change, delete; the file itself is in video.ts, new assets in uploads/ and imports/. */
export function routes(kit: AssetsKit): AnyElysia {
  const { resources, actors } = kit;
  const { keyed } = keyedRoutes(kit);
  const shown = shownAsset(kit);
  const urls = uploadUrls(kit);
  const extensions = resources.fields(assetResource);
  const change = bodyReader({ ...ownChangeable, ...shown.extended } as typeof ownChangeable, shown);
  const present = (row: StoredResource, caller: Caller) => shown.present(assetOf(row), caller);
  const filters = { ...fields, ...extensions.filterable('fields') };
  const list = resourceList({ kind: assetKind, fields: filters, caller: kit.caller, resources });
  const owned = async ({ accountId }: Principal, id: string): Promise<StoredResource> => {
    const row = await assetRow(id, kit);
    return row?.account === accountId ? row : Promise.reject(assetNotFound(id));
  };

  return new Elysia()
    .use(videoRoutes(kit))
    .use(requestRoute(kit, { urls }))
    .use(importRoute(kit))
    .use(putRoute(kit, { urls }))
    .use(tusRoutes(kit, { urls }))
    .get(
      '/api/asset',
      keyed(({ request, principal: { accountId: account } }) => list(request, { account, present })),
      says('Lists assets, newest first; parameters as for streams.', {
        name: 'listAssets',
        query: listParameters(filters),
        answers: { 200: listAnswer(shown.schema) },
        faults: ['query.invalid'],
      }),
    )
    .get(
      '/api/asset/:id',
      keyed(async ({ request, params: { id }, principal }) =>
        Response.json(await present(await owned(principal, id), kit.caller(request))),
      ),
      says('One asset.', {
        name: 'getAsset',
        answers: { 200: json(shown.schema, 'The asset.') },
        faults: ['asset.not_found'],
      }),
    )
    .patch(
      '/api/asset/:id',
      keyed(async ({ request, params: { id }, principal }) => {
        // Before the body is read: the asset of another account is 404, whatever is sent.
        const stored = assetOf(await owned(principal, id)).fields ?? {};
        const body = await change.read(request);
        if (extensions.isAudited(body)) markAudited(request);
        const named = await extensions.named(body, { principal, stored });
        const changes = changesIn(body, named);
        if (Object.keys(changes).length > 0)
          await actors.ask(asset, id, { type: 'change', changes }).catch(unlessDeleted(id));
        return Response.json(await present(await owned(principal, id), kit.caller(request)));
      }),
      says('Changes the fields that the body names. 200 with the asset.', {
        name: 'changeAsset',
        body: change,
        answers: { 200: json(shown.schema, 'The asset.') },
        faults: ['asset.not_found', ...extensions.faults],
      }),
    )
    .delete(
      '/api/asset/:id',
      keyed(async ({ params: { id }, principal }) => {
        await owned(principal, id);
        await actors.ask(asset, id, { type: 'delete' }).catch(unlessDone);
        return new Response(null, { status: 204 });
      }),
      says('Deletes an asset and its file; if it is a recording, also the recording. 204.', {
        name: 'deleteAsset',
        answers: { 204: nothing },
        faults: ['asset.not_found'],
      }),
    );
}

/** What a body changes. `fields`: those of other plugins that it names. */
function changesIn(
  { name, userTags }: { name?: string; userTags?: Record<string, unknown> },
  fields: FieldValues,
) {
  return {
    ...(name !== undefined && { name }),
    ...(userTags !== undefined && { userTags }),
    ...(Object.keys(fields).length > 0 && { fields }),
  };
}

/** Fields of the asset object by which lists are filtered, as the object shows them. */
const fields = {
  id: { type: 'string' },
  name: { type: 'string' },
  status: { type: 'string' },
  size: { type: 'number' },
  createdAt: { type: 'number' },
  updatedAt: { type: 'number' },
  playbackId: { type: 'string' },
  userId: { type: 'string', path: ['account'] },
} as const satisfies Record<string, { type: string; path?: [keyof AssetDocument] }>;

/** For a command to an asset that another request may have deleted since it was read. */
function unlessDeleted(id: string): (error: unknown) => never {
  return (error) => {
    throw isDeleted(error) ? assetNotFound(id) : error;
  };
}

function unlessDone(error: unknown): void {
  if (!isDeleted(error)) throw error;
}

/** While its blobs are being deleted, the actor still exists and refuses commands. */
function isDeleted(error: unknown): boolean {
  return hasCode(error, 'actor.not_found') || hasCode(error, 'actor.not_possible');
}

/** Limits the assets of an account. All routes of a node that make assets share it. */
export function assetPlaces(kit: AssetsKit): Quota {
  const { resources, clock, config } = kit;
  return quota({
    clock,
    most: config.maxPerAccount,
    count: (account) => resources.count(assetKind, { account }),
    full: () => tooMany(config.maxPerAccount),
    limit: { name: 'assets', kit },
  });
}

function tooMany(most: number): Fault {
  const message = `This account has ${most} assets (plugins.assets.maxPerAccount). Delete some.`;
  return new Fault('asset.too_many', { status: 409, message });
}
