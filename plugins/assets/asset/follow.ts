import { payloadOf } from '../../../core/plugin/events.ts';
import type { LoggedEvent } from '../../../core/ports/store.ts';
import { type TaskType, tasks } from '../../tasks/contract.ts';
import type { AssetsKit } from '../config.ts';
import { type AssetSource, assets, fileTaskOf, fileTasks, outputOf } from '../contract.ts';
import { forgetHolder } from '../ranges/holder.ts';

/**
 * Keeps an asset and its task consistent, also after a crash between the two writes: a file completes the task, a task that ends
 * without a file fails the asset, and deleting the asset cancels the task.
 */
export const fileReactions = {
  async 'asset.ready'(event: LoggedEvent, kit: AssetsKit): Promise<void> {
    const { id, taskId } = assetIn(event);
    await forgetHolder(id, { kit });
    if (taskId === undefined) return;
    const found = await kit.use(assets).find(id);
    if (found?.file) await kit.use(tasks).complete(taskId, outputOf(found.file, found));
  },
  async 'asset.deleted'(event: LoggedEvent, kit: AssetsKit): Promise<void> {
    const { id, taskId } = assetIn(event);
    await forgetHolder(id, { kit });
    if (taskId !== undefined) await kit.use(tasks).cancel(taskId);
    // Exports and transcodes of this asset. Their finished results stay.
    await kit.use(tasks).cancelOf(id);
  },
  'task.failed': endedWithout,
  'task.updated': endedWithout,
};

async function endedWithout(event: LoggedEvent, kit: AssetsKit): Promise<void> {
  const { type, id, outputAssetId, status } = payloadOf<{ task: ShownTask }>(event).task;
  if (!bringing.has(type) || outputAssetId === undefined) return;
  if (status.phase !== 'failed' && status.phase !== 'cancelled') return;
  // The current phase counts: the task may have been retried since the event.
  if ((await kit.use(tasks).find(id))?.phase !== status.phase) return;
  const message = status.phase === 'cancelled' ? `The ${type} was cancelled.` : (status.errorMessage ?? '');
  await kit.use(assets).fail(outputAssetId, message);
}

const bringing: ReadonlySet<TaskType> = new Set(Object.values(fileTasks));

/** The asset of an event, and the id of its task, if it has one. */
function assetIn(event: LoggedEvent): { readonly id: string; readonly taskId: string | undefined } {
  const { id, source } = payloadOf<{ asset: { id: string; source: AssetSource } }>(event).asset;
  const taskId = source.type === 'recording' ? undefined : fileTaskOf(id, fileTasks[source.type]);
  return { id, taskId };
}

interface ShownTask {
  readonly id: string;
  readonly type: TaskType;
  readonly outputAssetId?: string;
  readonly status: { readonly phase: string; readonly errorMessage?: string };
}
