import { bytesOf, milliseconds } from '../../../core/base/config-fields.ts';
import { type Fault, hasCode } from '../../../core/base/fault.ts';
import { uuid } from '../../../core/base/ids.ts';
import { services } from '../../../core/plugin/services.ts';
import type { ReceivedFile } from '../../../core/ports/intake.ts';
import type { TaskKind, TaskResult, TaskWork } from '../../tasks/contract.ts';
import { settle } from '../asset/making.ts';
import { acceptAny, comeStage, isNormalised, stage } from '../asset/normalise.ts';
import type { AssetsKit } from '../config.ts';
import { assets, outputOf } from '../contract.ts';
import { download } from './download.ts';
import { sourceOf } from './source.ts';
import { transferLimits } from './transfer.ts';

/** Imports as tasks: fetches the file of an asset, looks into it, stores it, makes the asset ready. */
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

/** A repeat, also one side by side with a worker that is thought to be dead, makes no second file: the first one counts. */
async function run(work: TaskWork, kit: AssetsKit): Promise<TaskResult> {
  const { account, signal } = work;
  const source = sourceOf((work.secret as { url: string }).url);
  if (!source) throw new TypeError(`import ${work.id} has no URL`);
  const asset = await kit.use(assets).ofWork(work, { type: 'url', url: source.shown });
  if (!asset) return deleted;
  // A former try got so far, and its end was not heard of.
  if (asset.file) return { outcome: 'done', output: outputOf(asset.file, asset) };
  let file: ReceivedFile | undefined;
  try {
    const { outbound, clock, config } = kit;
    const come = comeStage(await isNormalised(kit));
    file = await download(source, {
      ...{ outbound, clock, account, signal, limits: transferLimits },
      intake: kit.use(services.intake),
      most: bytesOf(config.maxImportSize),
      time: milliseconds(config.importTime),
      progress: (fraction) => work.progress(fraction * come),
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
  return ['import.failed', 'upload.refused', 'conversion.refused'].some((code) => hasCode(error, code));
}

const deleted: TaskResult = { outcome: 'failed', message: 'The asset of this import was deleted.' };
