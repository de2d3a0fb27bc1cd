import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../../core/base/fault.ts';
import { userTagsSchema } from '../../../core/base/name.ts';
import { authenticate, authenticator } from '../../../core/http/auth.ts';
import { bodyReader } from '../../../core/http/body.ts';
import { says } from '../../../core/http/http.ts';
import { idempotent } from '../../../core/http/idempotency.ts';
import { json } from '../../../core/http/operation.ts';
import type { Quota } from '../../../core/http/quota.ts';
import { services } from '../../../core/plugin/services.ts';
import { taskSchema, tasks } from '../../tasks/contract.ts';
import { assetOf, assetRow } from '../asset/document.ts';
import { making } from '../asset/making.ts';
import { assetName, type ShownAsset, shownAsset } from '../asset/present.ts';
import type { AssetsKit } from '../config.ts';
import { importTaskOf } from '../contract.ts';
import { importWait } from './kind.ts';
import { type ImportSecret, type NewAsset, type Source, sourceOf } from './source.ts';

/** Characters of the URL of an import. */
const mostUrlCharacters = 8192;

/** `POST /api/asset/import`: an asset whose file is fetched from a URL, and the task that does it. */
export function importRoute(kit: AssetsKit, { places }: { places: Quota }): AnyElysia {
  const { clock } = kit;
  const shownAs = shownAsset(kit);
  const body = bodyOf(shownAs);
  const keys = kit.use(authenticator);
  const once = idempotent(kit);
  const assets = making(kit);

  return new Elysia().post(
    '/api/asset/import',
    async ({ request }) => {
      const principal = await authenticate(request, keys);
      return once(request, {
        principal,
        run: async ({ id, caller }) => {
          const given = await body.read(request);
          const { userTags } = given;
          const source = checkedSource(given.url, kit);
          const name = given.name ?? source.name;
          const { accountId: account, keyName } = principal;
          await places.admit(account);
          await kit.use(services.intake).checkRoom(0);
          const by = { createdByTokenName: keyName };
          const taskId = importTaskOf(id);
          const asset: NewAsset = { ...(userTags && { userTags }), ...by };
          const secret: ImportSecret = { url: given.url, asset: JSON.stringify(asset) };
          // The task first: whoever works at it makes the asset where we do not get that far.
          await kit.use(tasks).spawn({
            ...{ id: taskId, account, type: 'import', name, outputAssetId: id, ...by },
            ...{ params: { url: source.shown }, secret: { ...secret } },
            ...{ deadline: clock.now() + importWait, lateMessage },
          });
          const from = { type: 'url', url: source.shown } as const;
          await assets.begin({ id, account, name, source: from, ...asset });
          const row = await assetRow(id, kit);
          if (!row) throw new Fault('asset.not_found', { status: 404, message: 'The asset was deleted.' });
          const shown = {
            asset: await shownAs.present(assetOf(row), caller),
            task: await kit.use(tasks).show(taskId),
          };
          return Response.json(shown, { status: 201 });
        },
      });
    },
    says(
      'Begins an asset whose file the server fetches from a URL, and the task that does it. 201; how it goes is told by the task.',
      {
        name: 'importAsset',
        body,
        answers: { 201: json(answerSchema(shownAs), 'The asset, waiting, and the task.') },
        faults: [
          ...['import.bad_url', 'asset.too_many', 'asset.not_found', 'task.too_many'],
          ...['intake.full', 'intake.unavailable'],
        ],
      },
    ),
  );
}

/** Fault `import.bad_url` (422). */
function checkedSource(url: string, { outbound }: AssetsKit): Source {
  const source = sourceOf(url);
  const { url: asked = url, headers = {} } = source ?? {};
  const wrong = outbound.problem(asked, { headers });
  if (source && !wrong) return source;
  const message = `url: ${wrong?.message ?? 'expected a URL such as https://example.com/film.mp4'}.`;
  throw new Fault('import.bad_url', { status: 422, message });
}

const bodyOf = ({ readOnly }: ShownAsset) =>
  bodyReader(
    {
      url: Type.String({
        minLength: 1,
        maxLength: mostUrlCharacters,
        description:
          'http or https. A user and password in it are sent as Basic authentication. They, signatures and tokens are never shown.',
        examples: ['https://films.example.com/friday.mp4'],
      }),
      name: Type.Optional(assetName),
      userTags: Type.Optional(userTagsSchema),
    },
    { readOnly },
  );

const answerSchema = ({ schema }: ShownAsset) =>
  Type.Object({ asset: schema, task: taskSchema }, { additionalProperties: false });

const lateMessage = 'The import was not begun in time.';
