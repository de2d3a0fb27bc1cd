import { Fault, hasCode, isAccepted, unlessRefused, unlessThere } from '../../../core/base/fault.ts';
import { newPlaybackId, uuid } from '../../../core/base/ids.ts';
import { bodyReader } from '../../../core/http/body.ts';
import type { Quota } from '../../../core/http/quota.ts';
import type { FieldValues } from '../../../core/plugin/resource.ts';
import { services } from '../../../core/plugin/services.ts';
import { taskSchema, tasks } from '../../tasks/contract.ts';
import type { AssetsKit } from '../config.ts';
import {
  type AssetChanges,
  type AssetFile,
  type AssetReference,
  type Assets,
  assetNotFound,
  assetResource,
  assetTerms,
  fileTaskOf,
  fileTasks,
  keysOf,
  type NewAsset,
  outputOf,
} from '../contract.ts';
import { checkPermission } from '../uploads/permission.ts';
import { accept, received } from './accept.ts';
import { asset } from './asset.ts';
import { type AssetDocument, assetOf, assetRow, folderOf, watchedRow } from './document.ts';
import { ownChangeable, shownAsset } from './present.ts';

/** The service that other plugins make assets with. */
export function making(kit: AssetsKit, { places }: { places: Quota }): Assets {
  const { actors } = kit;
  const { schema, present } = shownAsset(kit);

  const find = async (id: string): Promise<AssetReference | undefined> => {
    const row = await assetRow(id, kit);
    return row && referenceOf(assetOf(row), kit);
  };
  const begin: Assets['begin'] = (given) => beginAsset(given, kit);

  return {
    ...{ begin, find, ordered: { asset: schema, task: taskSchema } },
    async order(given, caller) {
      const { id, account, name, source, userTags, createdByTokenName, secret, fields, ...task } = given;
      await kit.use(services.intake).checkRoom(0);
      await checkPermission({ stage: 'request', account, assetId: id, name, source }, kit);
      const type = fileTasks[source.type];
      const taskId = fileTaskOf(id, type);
      const more = { userTags, createdByTokenName, fields };
      await places.making(account, async () => {
        // The task first: if this process dies now, the work of the task makes the asset. An asset without a task would wait for ever.
        await kit.use(tasks).spawn({
          ...{ id: taskId, account, type, name, outputAssetId: id, ...task },
          ...(source.type === 'transcode' && { inputAssetId: source.inputAssetId }),
          ...(createdByTokenName !== undefined && { createdByTokenName }),
          // As one text, because every text in a secret is removed from the messages of the task.
          secret: { ...secret, asset: JSON.stringify(more) },
        });
        await begin(given);
      });
      const row = await assetRow(id, kit);
      if (!row) throw assetNotFound(id);
      return { asset: await present(assetOf(row), caller), task: await kit.use(tasks).show(taskId) };
    },
    async ofWork({ id: taskId, outputAssetId: id, account, name, secret }, source) {
      if (id === null) throw new TypeError(`task ${taskId} is of no asset`);
      const found = await find(id);
      // The event of the failure may arrive after that of the renewed task.
      if (found?.status === 'failed') await awaitAnew(id, kit);
      if (found) return found;
      const more = JSON.parse((secret as { asset: string }).asset) as object;
      await begin({ id, account, name, source, ...more });
      return find(id);
    },
    async renew({ outputAssetId: id }) {
      if (id !== null && (await awaitAnew(id, kit))) return id;
      const message = 'The asset of this task was deleted, or has its file: there is nothing to retry.';
      throw new Fault('task.not_possible', { status: 409, message });
    },
    async inputOf({ inputAssetId, account }) {
      const found = inputAssetId === null ? undefined : await find(inputAssetId);
      return found?.account === account && found.status === 'ready' ? found.file : undefined;
    },
    async ready(id, file) {
      return (await give(file, { id, kit })) ? 'ok' : 'gone';
    },
    fail: (id, message) => actors.ask(asset, id, { type: 'fail', message }).then(() => {}, unlessRefused),
    change: (id, changes) => change(id, { changes, kit }),
    async findByPlaybackId(playbackId) {
      const row = await watchedRow(playbackId, kit);
      return row && referenceOf(assetOf(row), kit);
    },
    async take(id, film, { signal, check }) {
      const file = await received(film, { kit, signal });
      try {
        const found = await find(id);
        if (!found) return 'gone';
        const { name } = found;
        const made = await accept(
          { assetId: id, workId: uuid(), name },
          { file, signal, kit, storing: check },
        );
        const its = await settle(made, { id, signal, kit });
        return its ? outputOf(its, { name }) : 'gone';
      } finally {
        await file.discard();
      }
    },
  };
}

const reader = bodyReader(ownChangeable);

async function change(
  id: string,
  { changes, kit }: { changes: AssetChanges; kit: AssetsKit },
): Promise<'ok' | 'gone'> {
  const checked = reader.check(changes) as AssetChanges;
  const asked = kit.actors.ask(asset, id, { type: 'change', changes: checked });
  return (await isAccepted(asked)) ? 'ok' : 'gone';
}

async function beginAsset(given: Parameters<Assets['begin']>[0], kit: AssetsKit): Promise<void> {
  const { actors, clock } = kit;
  const { id, account, name, source, userTags = {}, createdByTokenName = null } = given;
  const settings = {
    ...{ id, account, name, source, createdByTokenName, userTags },
    ...{ playbackId: newPlaybackId(), createdAt: clock.now() },
    fields: given.fields ?? (await inherited(given, kit)),
  };
  // Also if it was deleted: the caller does not know about that yet.
  await actors.spawn(asset, id, settings, { cause: `asset/${id}` }).catch(unlessThere);
}

/** What plugins set in an asset that no client ordered with values of its own. */
async function inherited(
  { account, source }: NewAsset,
  { offered }: Pick<AssetsKit, 'offered'>,
): Promise<FieldValues> {
  const values: Record<string, Record<string, unknown>> = {};
  for (const { plugin, terms } of offered(assetTerms))
    values[plugin] = { ...values[plugin], ...(await terms({ account, source })) };
  return values;
}

function referenceOf(document: AssetDocument, { resources }: Pick<AssetsKit, 'resources'>): AssetReference {
  const { id, status, account, name, userTags, playbackId, source, file } = document;
  const fields = resources.fields(assetResource).present(document.fields ?? {});
  return { id, status, account, name, userTags, playbackId, source, fields, ...(file && { file }) };
}

/** Sets a failed asset to `waiting` again. False: it was deleted, or has a file. */
export function awaitAnew(id: string, { actors }: AssetsKit): Promise<boolean> {
  return isAccepted(actors.ask(asset, id, { type: 'await' }));
}

/** Returns the file that the asset has now; undefined if it was deleted. `isFirst`: does not replace an existing file. */
async function give(
  file: AssetFile,
  { id, isFirst, kit }: { id: string; isFirst?: true; kit: AssetsKit },
): Promise<AssetFile | undefined> {
  // A file outside this folder would not be deleted with its asset.
  const astray = keysOf(file).find((key) => !key.startsWith(folderOf(id)));
  if (astray !== undefined) throw new RangeError(`${astray} is not below ${folderOf(id)}`);
  try {
    const { value, context } = await kit.actors.ask(asset, id, {
      type: 'ready',
      file,
      ...(isFirst && { isFirst }),
    });
    return typeof value === 'object' ? (context.file as AssetFile) : undefined;
  } catch (error) {
    if (hasCode(error, 'actor.not_found')) return undefined;
    throw error;
  }
}

/**
 * Gives a file to its asset. If another attempt was faster, deletes the blobs of this one and returns the file of the other.
 * Undefined: the asset was deleted.
 */
export async function settle(
  made: AssetFile,
  { id, signal, kit }: { readonly id: string; readonly signal: AbortSignal; readonly kit: AssetsKit },
): Promise<AssetFile | undefined> {
  const remove = () => kit.blobs.delete(keysOf(made));
  if (signal.aborted) {
    await remove();
    throw signal.reason;
  }
  const its = await give(made, { id, isFirst: true, kit });
  if (its?.video.key !== made.video.key) await remove();
  return its;
}
