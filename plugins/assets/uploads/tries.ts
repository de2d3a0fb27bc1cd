import { type Fault, hasCode } from '../../../core/base/fault.ts';
import type { ReceivedFile } from '../../../core/ports/intake.ts';
import { tasks } from '../../tasks/contract.ts';
import { keysOf, outputOf } from '../contract.ts';
import { type AssetDocument, assetOf } from '../document.ts';
import type { AssetsKit } from '../kit.ts';
import { assetRow } from '../lookup.ts';
import { making } from '../making.ts';
import { acceptAny, isNormalised } from '../normalise.ts';
import { comeStage, stage } from '../stages.ts';
import { accepted, busy, cancelled, deleted } from './faults.ts';
import { uploadPlaces } from './places.ts';
import { progressOf } from './progress.ts';

/**
 * What every try at the file of an asset does, by PUT or by tus: any number of them, also side by side and on several nodes. The
 * first file that is accepted is the asset's, and ends the others. A try that ends otherwise leaves nothing but a task
 * that waits for the next, or has failed with the reason.
 */
export function uploadTries(kit: AssetsKit) {
  const { blobs, clock } = kit;
  const assets = making(kit);

  const documentOf = async (id: string): Promise<AssetDocument> => {
    const row = await assetRow(id, kit);
    if (row) return assetOf(row);
    throw deleted;
  };

  return {
    /** Of this node, of PUT and tus together. */
    places: uploadPlaces(kit.config),

    /** Fault `asset.not_found`. */
    documentOf,

    /** The task runs. Throws what its phase says when it cannot. */
    async begin({ taskId, workId }: Try): Promise<void> {
      if (await kit.use(tasks).begin(taskId, workId)) return;
      const phase = (await kit.use(tasks).find(taskId))?.phase;
      if (phase === undefined) throw deleted;
      if (phase === 'cancelled') throw cancelled;
      throw phase === 'running' ? busy : accepted;
    },

    /** Of an asset that had failed: it waits for this file now. */
    async awaitAnew({ id, status }: AssetDocument): Promise<void> {
      if (status === 'failed') await assets.awaitAnew(id);
    },

    /** Makes a file that came the asset's. `name`: of this try's blobs, which no other may have. */
    async take(
      file: ReceivedFile,
      { of, name, signal }: { of: Try; name: string; signal: AbortSignal },
    ): Promise<AssetDocument> {
      const { assetId, taskId, workId, assetName } = of;
      const storing = async () => {
        const isWanted = await kit.use(tasks).progress(taskId, { workId, progress: stage.storing });
        if (!isWanted) throw cancelled;
      };
      const work = { assetId, workId: name, name: assetName };
      // While a film is normalised nothing else notices that nobody wants it any more.
      const leaving = new AbortController();
      const wanted = { tasks: kit.use(tasks), clock, unwanted: () => leaving.abort(cancelled) };
      const share = { from: comeStage(await isNormalised(kit)), to: stage.normalised };
      const made = await acceptAny(work, {
        ...{ file, kit, storing, signal: AbortSignal.any([signal, leaving.signal]) },
        progress: progressOf({ taskId, workId, expected: 1, ...share }, wanted),
      });
      const outcome = await assets.ready(assetId, made, { isFirst: true });
      if (outcome !== 'ok') {
        await blobs.delete(keysOf(made));
        throw outcome === 'gone' ? deleted : accepted;
      }
      await kit.use(tasks).complete(taskId, { ...outputOf(made, { name: assetName }) });
      return await documentOf(assetId);
    },

    /** What a try that ended without a file leaves behind. */
    async settle(error: unknown, { assetId, taskId, workId }: Try): Promise<void> {
      if (!isFinal(error)) return kit.use(tasks).interrupted(taskId, workId);
      const { message } = error as Fault;
      // Not while another try goes on, which may be a better one.
      if (await kit.use(tasks).fail(taskId, { workId, message })) await assets.fail(assetId, message);
    },

    /** A try that is not wanted any more was cancelled, its asset deleted, or another one was faster. */
    async truthOf(error: unknown, { assetId }: Try): Promise<unknown> {
      if (error !== cancelled) return error;
      const row = await assetRow(assetId, kit);
      if (!row) return deleted;
      return assetOf(row).status === 'ready' ? accepted : cancelled;
    },
  };
}

export type UploadTries = ReturnType<typeof uploadTries>;

export interface Try {
  readonly assetId: string;
  readonly taskId: string;
  /** By which the task knows it. */
  readonly workId: string;
  readonly assetName: string;
}

/** It is no use to try the same again. */
export function isFinal(error: unknown): boolean {
  return ['upload.refused', 'intake.too_large', 'conversion.refused'].some((code) => hasCode(error, code));
}
