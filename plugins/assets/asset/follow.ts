import type { LoggedEvent } from '../../../core/ports/store.ts';
import { type TaskType, tasks } from '../../tasks/contract.ts';
import type { AssetsKit } from '../config.ts';
import { type AssetSource, importTaskOf, outputOf, taskIdOf, transcodeTaskOf } from '../contract.ts';
import { assetOf, assetRow } from './document.ts';
import { making } from './making.ts';

/**
 * Keeps an asset and the task that brings its file in step, whatever died between the one and the other: a file that is there
 * completes the task, a task that ended without one fails the asset, an asset that is deleted cancels it.
 */
export const fileReactions = {
  async 'asset.ready'(event: LoggedEvent, kit: AssetsKit): Promise<void> {
    const found = broughtBy(event);
    if (!found) return;
    const row = await assetRow(found.assetId, kit);
    const document = row && assetOf(row);
    if (!document?.file) return;
    await kit.use(tasks).complete(found.taskId, { ...outputOf(document.file, document) });
  },
  async 'asset.deleted'(event: LoggedEvent, kit: AssetsKit): Promise<void> {
    const found = broughtBy(event);
    if (found) await kit.use(tasks).cancel(found.taskId);
  },
  'task.failed': endedWithout,
  'task.updated': endedWithout,
};

/** What brings files, by the type of its tasks: which assets are from there, and the task of one. */
const bringers: Partial<Record<TaskType, Bringer>> = {
  upload: { source: 'directUpload', taskOf: taskIdOf },
  import: { source: 'url', taskOf: importTaskOf },
  transcode: { source: 'transcode', taskOf: transcodeTaskOf },
};

interface Bringer {
  readonly source: AssetSource['type'];
  taskOf(assetId: string): string;
}

async function endedWithout(event: LoggedEvent, kit: AssetsKit): Promise<void> {
  const { type, id, outputAssetId, status } = bodyOf(event).task ?? {};
  if (type === undefined || !bringers[type] || id === undefined || outputAssetId === undefined) return;
  if (status?.phase !== 'failed' && status?.phase !== 'cancelled') return;
  // What it is now counts: it may be tried again since.
  const { phase } = (await kit.use(tasks).find(id)) ?? {};
  if (phase !== status.phase) return;
  const message = phase === 'cancelled' ? `The ${type} was cancelled.` : (status.errorMessage ?? '');
  await making(kit).fail(outputAssetId, message);
}

/** The asset that an event tells of and its task, if a task brings its file. */
function broughtBy(event: LoggedEvent): { readonly assetId: string; readonly taskId: string } | undefined {
  const { asset } = bodyOf(event);
  const bringer = asset && Object.values(bringers).find(({ source }) => source === asset.source.type);
  return bringer && { assetId: asset.id, taskId: bringer.taskOf(asset.id) };
}

function bodyOf(event: LoggedEvent): {
  readonly asset?: { readonly id: string; readonly source: { readonly type: string } };
  readonly task?: {
    readonly id: string;
    readonly type: TaskType;
    readonly outputAssetId?: string;
    readonly status: { readonly phase: string; readonly errorMessage?: string };
  };
} {
  return (JSON.parse(event.body) as { payload: ReturnType<typeof bodyOf> }).payload;
}
