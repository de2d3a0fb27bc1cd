import { Fault } from '../../../core/fault.ts';
import type { LoggedEvent } from '../../../core/ports/store.ts';
import { type TaskKind, tasks } from '../../tasks/contract.ts';
import { assetOf } from '../document.ts';
import type { AssetsKit } from '../kit.ts';
import { assetLimits } from '../limits.ts';
import { assetRow } from '../lookup.ts';
import { making } from '../making.ts';
import { outputOf } from './accept.ts';
import { taskIdOf } from './task-of.ts';
import { uploadUrls } from './url.ts';

/**
 * Keeps asset and task of an upload in step, whatever died between the one and the other: a file that is there completes the
 * task, a task that ended without one fails the asset, an asset that is deleted cancels it.
 */
export const uploadReactions = {
  async 'asset.ready'(event: LoggedEvent, kit: AssetsKit): Promise<void> {
    const id = uploadedIn(event);
    const row = id === undefined ? undefined : await assetRow(id, kit);
    const document = row && assetOf(row);
    if (!document?.file) return;
    await kit.use(tasks).complete(taskIdOf(document.id), { ...outputOf(document.file, document) });
  },
  async 'asset.deleted'(event: LoggedEvent, kit: AssetsKit): Promise<void> {
    const id = uploadedIn(event);
    if (id !== undefined) await kit.use(tasks).cancel(taskIdOf(id));
  },
  'task.failed': endedWithout,
  'task.updated': endedWithout,
};

async function endedWithout(event: LoggedEvent, kit: AssetsKit): Promise<void> {
  const { type, id, outputAssetId, status } = bodyOf(event).task ?? {};
  if (type !== 'upload' || id === undefined || outputAssetId === undefined) return;
  if (status?.phase !== 'failed' && status?.phase !== 'cancelled') return;
  // What it is now counts: it may be tried again since.
  const { phase } = (await kit.use(tasks).find(id)) ?? {};
  if (phase !== status.phase) return;
  const message = phase === 'cancelled' ? 'The upload was cancelled.' : (status.errorMessage ?? '');
  await making(kit).fail(outputAssetId, message);
}

/** How uploads are tried again: the asset waits once more, and there is a new URL for its file. */
export function uploadKind(kit: AssetsKit): TaskKind {
  const urls = uploadUrls(kit);
  return {
    type: 'upload',
    async renew({ outputAssetId }) {
      const isThere = outputAssetId !== null && (await making(kit).awaitAnew(outputAssetId));
      if (!isThere) {
        const message = 'The asset of this upload was deleted, or has its file: there is nothing to retry.';
        throw new Fault('task.not_possible', { status: 409, message });
      }
      const deadline = kit.clock.now() + assetLimits.uploadUrl;
      const url = await urls.make(outputAssetId, deadline);
      return { deadline, params: { url, tusEndpoint: await urls.makeTus(outputAssetId, deadline) } };
    },
  };
}

/** Id of the asset that an event tells of, if it comes from an upload. */
function uploadedIn(event: LoggedEvent): string | undefined {
  const { asset } = bodyOf(event);
  return asset?.source.type === 'directUpload' ? asset.id : undefined;
}

function bodyOf(event: LoggedEvent): {
  readonly asset?: { readonly id: string; readonly source: { readonly type: string } };
  readonly task?: {
    readonly id: string;
    readonly type: string;
    readonly outputAssetId?: string;
    readonly status: { readonly phase: string; readonly errorMessage?: string };
  };
} {
  return (JSON.parse(event.body) as { payload: ReturnType<typeof bodyOf> }).payload;
}
