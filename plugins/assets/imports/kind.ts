import { bytesOf, milliseconds } from '../../../core/base/config-fields.ts';
import { Fault, hasCode } from '../../../core/base/fault.ts';
import { uuid } from '../../../core/base/ids.ts';
import { services } from '../../../core/plugin/services.ts';
import type { ReceivedFile } from '../../../core/ports/intake.ts';
import type { TaskKind, TaskResult, TaskWork } from '../../tasks/contract.ts';
import { type AssetDocument, assetOf, assetRow } from '../asset/document.ts';
import { making, settle } from '../asset/making.ts';
import { acceptAny, comeStage, isNormalised, stage } from '../asset/normalise.ts';
import type { AssetsKit } from '../config.ts';
import { type AssetFile, outputOf } from '../contract.ts';
import { download } from './download.ts';
import { type ImportSecret, type NewAsset, type Source, sourceOf } from './source.ts';
import { transferLimits } from './transfer.ts';

/** How long an import may wait until it is begun, ms. */
export const importWait = 7 * 24 * 3_600_000;

/** Imports as tasks: fetches the file of an asset, looks into it, stores it, makes the asset ready. */
export function importKind(kit: AssetsKit): TaskKind {
  return {
    type: 'import',
    async renew({ outputAssetId }) {
      if (outputAssetId === null || !(await making(kit).awaitAnew(outputAssetId))) {
        const message = 'The asset of this import was deleted, or has its file: there is nothing to retry.';
        throw new Fault('task.not_possible', { status: 409, message });
      }
      return { deadline: kit.clock.now() + importWait };
    },
    run: (work) => run(work, kit),
  };
}

/** A repeat, also one side by side with a worker that is thought to be dead, makes no second file: the first one counts. */
async function run(work: TaskWork, kit: AssetsKit): Promise<TaskResult> {
  const document = await assetOfWork(work, kit);
  if (!document) return deleted;
  // A former try got so far, and its end was not heard of.
  if (document.file) return doneBy(document.file, document);
  let file: ReceivedFile | undefined;
  try {
    const come = comeStage(await isNormalised(kit));
    file = await fetched(work, { kit, come });
    const { signal } = work;
    const { id: assetId, name } = document;
    const storing = () => work.progress(stage.storing);
    const progress = (fraction: number) => work.progress(come + fraction * (stage.normalised - come));
    const made = await acceptAny({ assetId, workId: uuid(), name }, { file, signal, kit, storing, progress });
    const output = await settle(made, { id: assetId, name, signal, kit });
    return output === 'gone' ? deleted : { outcome: 'done', output: { ...output } };
  } catch (error) {
    if (isFinal(error)) return { outcome: 'failed', message: error.message };
    throw error;
  } finally {
    await file?.discard();
  }
}

/** The asset that waits for the file. Undefined: it was deleted. */
async function assetOfWork(work: TaskWork, kit: AssetsKit): Promise<AssetDocument | undefined> {
  const { account, name, outputAssetId: id } = work;
  if (id === null) throw new TypeError(`import ${work.id} is of no asset`);
  const found = await assetRow(id, kit);
  if (found) {
    const document = assetOf(found);
    // The news that its task was renewed may have been overtaken by that of its former end.
    if (document.status === 'failed') await making(kit).awaitAnew(id);
    return document;
  }
  // The task is made before the asset, and whoever made it may be slower than we are, or dead.
  const more = JSON.parse(secretOf(work).asset) as NewAsset;
  const from = { type: 'url', url: sourceOfWork(work).shown } as const;
  await making(kit).begin({ id, account, name, source: from, ...more });
  const made = await assetRow(id, kit);
  return made && assetOf(made);
}

/** `come`: its share of the progress. */
function fetched(work: TaskWork, { kit, come }: { kit: AssetsKit; come: number }): Promise<ReceivedFile> {
  const { outbound, clock, config } = kit;
  const intake = kit.use(services.intake);
  const { account, signal } = work;
  return download(sourceOfWork(work), {
    ...{ outbound, intake, clock, account, signal, limits: transferLimits },
    most: bytesOf(config.maxImportSize),
    time: milliseconds(config.importTime),
    progress: (fraction) => work.progress(fraction * come),
  });
}

function doneBy(file: AssetFile, { name }: AssetDocument): TaskResult {
  return { outcome: 'done', output: { ...outputOf(file, { name }) } };
}

function isFinal(error: unknown): error is Fault {
  return ['import.failed', 'upload.refused', 'conversion.refused'].some((code) => hasCode(error, code));
}

function sourceOfWork(work: TaskWork): Source {
  const source = sourceOf(secretOf(work).url);
  if (!source) throw new TypeError(`import ${work.id} has no URL`);
  return source;
}

function secretOf({ secret }: TaskWork): ImportSecret {
  return secret as unknown as ImportSecret;
}

const deleted: TaskResult = { outcome: 'failed', message: 'The asset of this import was deleted.' };
