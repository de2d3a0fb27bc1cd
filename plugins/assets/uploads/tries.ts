import { bytesOf } from '../../../core/base/config-fields.ts';
import { Fault, hasCode } from '../../../core/base/fault.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Pace, ReceivedFile } from '../../../core/ports/intake.ts';
import { type Tasks, tasks } from '../../tasks/contract.ts';
import { acceptAny, comeStage, isNormalised, stage } from '../asset/accept.ts';
import { type AssetDocument, assetOf, assetRow } from '../asset/document.ts';
import { awaitAnew, settle } from '../asset/making.ts';
import type { AssetsKit } from '../config.ts';
import { assets, outputOf } from '../contract.ts';
import { accepted, busy, cancelled, deleted, uploadFault } from './faults.ts';

/** Time between two writes of the progress of an upload, ms. */
const progressInterval = 2000;
/** The speed of an upload is checked after so much time of waiting for its bytes, ms. */
const paceWindow = 60_000;

/**
 * What all attempts to upload the file of an asset share, by PUT or tus. Any number may run at the same time, also on several nodes.
 * The first accepted file becomes the file of the asset and ends the other attempts. An attempt without success leaves only a task
 * that waits for the next one, or that has failed with the reason.
 */
export function uploadTries(kit: AssetsKit) {
  const { clock } = kit;

  const documentOf = async (id: string): Promise<AssetDocument> => {
    const row = await assetRow(id, kit);
    if (row) return assetOf(row);
    throw deleted;
  };

  const end = async (error: unknown, { assetId, taskId, workId }: Omit<Try, 'assetName'>): Promise<void> => {
    if (!isFinal(error)) return kit.use(tasks).interrupted(taskId, workId);
    const { message } = error as Fault;
    // Not while another attempt is running, which may succeed.
    if (await kit.use(tasks).fail(taskId, { workId, message })) await kit.use(assets).fail(assetId, message);
  };

  return {
    /** Upload slots of this node, for PUT and tus together. */
    places: uploadPlaces(kit.config),

    /** Fault `asset.not_found`. */
    documentOf,

    /** Reports to the task that it is running. Throws a fault if its phase does not allow that. */
    async begin({ taskId, workId }: Try): Promise<void> {
      if (await kit.use(tasks).begin(taskId, workId)) return;
      const phase = (await kit.use(tasks).find(taskId))?.phase;
      if (phase === undefined) throw deleted;
      if (phase === 'cancelled') throw cancelled;
      throw phase === 'running' ? busy : accepted;
    },

    /** Lets an asset that had failed wait for this file. */
    async awaitAnew({ id, status }: AssetDocument): Promise<void> {
      if (status === 'failed') await awaitAnew(id, kit);
    },

    /** Makes a received file the file of the asset. `name`: of the blobs of this attempt; no other attempt may have it. */
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
      // During a conversion nothing else notices that the upload was cancelled.
      const leaving = new AbortController();
      const both = AbortSignal.any([signal, leaving.signal]);
      const wanted = { tasks: kit.use(tasks), clock, unwanted: () => leaving.abort(cancelled) };
      const share = { from: comeStage(await isNormalised(kit)), to: stage.normalised };
      const made = await acceptAny(work, {
        ...{ file, kit, storing, signal: both },
        progress: progressOf({ taskId, workId, expected: 1, ...share }, wanted),
      });
      const its = await settle(made, { id: assetId, signal: both, kit });
      if (its?.video.key !== made.video.key) throw its ? accepted : deleted;
      await kit.use(tasks).complete(taskId, outputOf(made, { name: assetName }));
      return await documentOf(assetId);
    },

    /** An attempt ended without a file: updates task and asset, and returns the error for the client. */
    async ended(error: unknown, { assetId, taskId, workId, isBegun = true }: Try): Promise<unknown> {
      if (isBegun)
        await end(error, { assetId, taskId, workId }).catch((trouble: unknown) => {
          // It is stored when this process ends, or with the end of the next attempt.
          kit.log.warn('the end of an upload could not be stored', { asset: assetId, error: trouble });
        });
      // Either it was cancelled, or its asset was deleted, or another attempt was faster.
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
  /** Id of this attempt, for the task. */
  readonly workId: string;
  readonly assetName: string;
  /** The task knows this attempt. Default: true. */
  readonly isBegun?: boolean;
}

/** A repeat with the same file would fail as well. */
export function isFinal(error: unknown): boolean {
  return finalCodes.some((code) => hasCode(error, code));
}

const finalCodes = [
  ...['upload.refused', 'upload.not_allowed', 'intake.too_large', 'conversion.refused', 'account.limit'],
];

/** Limits the concurrent uploads of this node, in total and per account. */
function uploadPlaces({ uploads, uploadsPerAccount }: AssetsKit['config']) {
  const counts = new Map<string, number>();
  let total = 0;
  return {
    /** Takes a slot; call the returned function to release it. Faults `server.busy` (503), `upload.too_many` (429). */
    take(account: string): () => void {
      const own = counts.get(account) ?? 0;
      if (total >= uploads) {
        const message = `This node takes ${uploads} uploads at a time (plugins.assets.uploads).`;
        throw new Fault('server.busy', { status: 503, message, retryAfter: 10 });
      }
      if (own >= uploadsPerAccount) {
        const message = `${uploadsPerAccount} uploads of this account run on this node (plugins.assets.uploadsPerAccount).`;
        throw uploadFault('upload.too_many', message, { retryAfter: 10 });
      }
      total += 1;
      counts.set(account, own + 1);
      return () => {
        total -= 1;
        const left = (counts.get(account) ?? 1) - 1;
        if (left > 0) counts.set(account, left);
        else counts.delete(account);
      };
    },
  };
}

/**
 * Stores the progress of an upload every 2 s, and learns from the answer whether the upload is still wanted. A write that fails is
 * made up for by the next one.
 */
export function progressOf(
  upload: {
    readonly taskId: string;
    readonly workId: string;
    /** Total of what is counted, if known. */
    readonly expected: number | undefined;
    /** Progress of the task when counting begins, and when it ends. */
    readonly from?: number;
    readonly to: number;
  },
  options: { readonly tasks: Tasks; readonly clock: Clock; unwanted(): void },
): (count: number) => void {
  const { taskId, workId, expected, from = 0, to } = upload;
  const { tasks, clock, unwanted } = options;
  let storedAt = clock.now();
  let isStoring = false;
  return (count) => {
    const now = clock.now();
    if (isStoring || now - storedAt < progressInterval) return;
    isStoring = true;
    storedAt = now;
    // Without a known length the progress stays, but the task learns that the attempt is alive.
    const progress = from + (expected ? Math.min(1, count / expected) * (to - from) : 0);
    tasks
      .progress(taskId, { workId, progress })
      .then(
        (isWanted) => isWanted || unwanted(),
        () => {},
      )
      .finally(() => {
        isStoring = false;
      });
  };
}

/** The lowest speed of an upload. A very slow one would keep its slot for days. */
export function leastPace({ config }: Pick<AssetsKit, 'config'>): Pace {
  return { rate: bytesOf(config.leastRate), window: paceWindow };
}

/** The `Content-Length` of a request. */
export function lengthOf({ headers }: Request): number | undefined {
  const text = headers.get('content-length');
  return text !== null && /^\d{1,16}$/.test(text) ? Number(text) : undefined;
}
