import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { bytesOf, milliseconds } from '../../../core/base/config-fields.ts';
import { Fault, hasCode } from '../../../core/base/fault.ts';
import { uuid } from '../../../core/base/ids.ts';
import { userTagsSchema } from '../../../core/base/name.ts';
import { object } from '../../../core/base/schema.ts';
import { bodyReader } from '../../../core/http/body.ts';
import { says } from '../../../core/http/http.ts';
import { keyedRoutes } from '../../../core/http/keyed.ts';
import { json } from '../../../core/http/operation.ts';
import { services } from '../../../core/plugin/services.ts';
import type { ReceivedFile } from '../../../core/ports/intake.ts';
import type { TaskKind, TaskResult, TaskWork } from '../../tasks/contract.ts';
import { acceptAny, comeStage, isNormalised, stage } from '../asset/accept.ts';
import { settle } from '../asset/making.ts';
import { assetName, type ShownAsset, shownAsset } from '../asset/present.ts';
import type { AssetsKit } from '../config.ts';
import { assetResource, assets, orderFaults, outputOf } from '../contract.ts';
import { receiveBound } from '../uploads/permission.ts';
import { download } from './download.ts';
import { TooLargeFile } from './faults.ts';
import { type Source, sourceOf } from './source.ts';
import { transferLimits } from './transfer.ts';

/** Longest URL, characters. */
const mostUrlCharacters = 8192;

/** `POST /api/asset/import`: creates an asset, and the task that downloads its file. */
export function importRoute(kit: AssetsKit): AnyElysia {
  const body = bodyOf(shownAsset(kit));
  const fields = kit.resources.fields(assetResource);
  const made = kit.use(assets);
  const { once } = keyedRoutes(kit);

  return new Elysia().post(
    '/api/asset/import',
    once(async ({ request, principal, id, caller }) => {
      const sent = await body.read(request);
      const { url, name: asked, userTags } = sent;
      const { accountId: account, keyName: createdByTokenName } = principal;
      const { shown, name } = checkedSource(url, { account, kit });
      const source = { type: 'url', url: shown } as const;
      const values = await fields.initial(sent, { principal });
      const given = {
        id,
        account,
        name: asked ?? name,
        source,
        userTags,
        createdByTokenName,
        fields: values,
      };
      const ordered = await made.order({ ...given, params: { url: shown }, secret: { url } }, caller);
      return Response.json(ordered, { status: 201 });
    }),
    says(
      'Creates an asset whose file the server fetches from a URL. 201 with the asset and the task of the import; the task shows the progress.',
      {
        name: 'importAsset',
        body,
        answers: {
          201: json(object(made.ordered), 'The asset, waiting, and the task.'),
        },
        faults: ['import.bad_url', ...orderFaults, ...fields.faults],
      },
    ),
  );
}

/** Fault `import.bad_url` (422). */
function checkedSource(url: string, { account, kit }: { account: string; kit: AssetsKit }): Source {
  const source = sourceOf(url);
  const { url: asked = url, headers = {} } = source ?? {};
  const wrong = kit.outbound.problem(asked, { headers, owner: account });
  if (source && !wrong) return source;
  const message = `url: ${wrong?.message ?? 'expected a URL such as https://example.com/film.mp4'}.`;
  throw new Fault('import.bad_url', { status: 422, message });
}

const ownFields = {
  url: Type.String({
    minLength: 1,
    maxLength: mostUrlCharacters,
    description:
      'http or https. A user and password in it are sent as Basic authentication. They, signatures and tokens are never shown.',
    examples: ['https://films.example.com/friday.mp4'],
  }),
  name: Type.Optional(assetName),
  userTags: Type.Optional(userTagsSchema),
};

const bodyOf = ({ readOnly, extended }: ShownAsset) =>
  bodyReader({ ...ownFields, ...extended } as typeof ownFields, { readOnly });

/** The task of an import: downloads the file, inspects it, stores it, and makes the asset ready. */
export function importKind(kit: AssetsKit): TaskKind {
  return {
    type: 'import',
    async renew(task) {
      await kit.use(assets).renew(task);
      return {};
    },
    run: (work) => run(work, kit),
  };
}

/** May be repeated, also at the same time as another worker: the first file counts. */
async function run(work: TaskWork, kit: AssetsKit): Promise<TaskResult> {
  const { account, signal } = work;
  const source = sourceOf((work.secret as { url: string }).url);
  if (!source) throw new TypeError(`import ${work.id} has no URL`);
  const asset = await kit.use(assets).ofWork(work, { type: 'url', url: source.shown });
  if (!asset) return deleted;
  // An earlier attempt succeeded, and its result was lost.
  if (asset.file) return { outcome: 'done', output: outputOf(asset.file, asset) };
  let file: ReceivedFile | undefined;
  try {
    const { outbound, clock, config } = kit;
    const come = comeStage(await isNormalised(kit));
    const { most, instead } = await receiveBound(account, { most: bytesOf(config.maxImportSize), kit });
    file = await download(source, {
      ...{ outbound, clock, account, signal, limits: transferLimits },
      intake: kit.use(services.intake),
      most,
      time: milliseconds(config.importTime),
      progress: (fraction) => work.progress(fraction * come),
    }).catch(async (error: unknown) => {
      throw error instanceof TooLargeFile ? await instead(error) : error;
    });
    const { id, name } = asset;
    const storing = () => work.progress(stage.storing);
    const progress = (fraction: number) => work.progress(come + fraction * (stage.normalised - come));
    const of = { assetId: id, workId: uuid(), name };
    const made = await acceptAny(of, { file, signal, kit, storing, progress });
    const its = await settle(made, { id, signal, kit });
    return its ? { outcome: 'done', output: outputOf(its, { name }) } : deleted;
  } catch (error) {
    if (isFinal(error)) return { outcome: 'failed', message: error.message };
    throw error;
  } finally {
    await file?.discard();
  }
}

function isFinal(error: unknown): error is Fault {
  return finalCodes.some((code) => hasCode(error, code));
}

const finalCodes = [
  ...['import.failed', 'upload.refused', 'upload.not_allowed', 'conversion.refused', 'account.limit'],
];

const deleted: TaskResult = { outcome: 'failed', message: 'The asset of this import was deleted.' };
