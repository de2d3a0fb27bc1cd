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

/** The progress of an upload is stored this often, ms. */
const progressInterval = 2000;
/** Time spent on waiting for bytes of an upload after which its rate is checked, ms. */
const paceWindow = 60_000;

/**
 * What every try at the file of an asset does, by PUT or by tus: any number of them, also side by side and on several nodes. The
 * first file that is accepted is the asset's, and ends the others. A try that ends otherwise leaves nothing but a task
 * that waits for the next, or has failed with the reason.
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
    // Not while another try goes on, which may be a better one.
    if (await kit.use(tasks).fail(taskId, { workId, message })) await kit.use(assets).fail(assetId, message);
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
      if (status === 'failed') await awaitAnew(id, kit);
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

    /** A try ended without a file: leaves behind what its task and asset must know, and answers what its client is told. */
    async ended(error: unknown, { assetId, taskId, workId, isBegun = true }: Try): Promise<unknown> {
      if (isBegun)
        await end(error, { assetId, taskId, workId }).catch((trouble: unknown) => {
          // It is stored when this process ends, or when the next try has an end.
          kit.log.warn('the end of an upload could not be stored', { asset: assetId, error: trouble });
        });
      // One that is not wanted any more was cancelled, its asset deleted, or another one was faster.
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
  /** The task knows it. Default: yes. */
  readonly isBegun?: boolean;
}

/** It is no use to try the same again. */
export function isFinal(error: unknown): boolean {
  return ['upload.refused', 'intake.too_large', 'conversion.refused'].some((code) => hasCode(error, code));
}

/** Bounds how many uploads this node takes at one time, in all and of one account. */
function uploadPlaces({ uploads, uploadsPerAccount }: AssetsKit['config']) {
  const counts = new Map<string, number>();
  let total = 0;
  return {
    /** Takes a place; the answer gives it back. Faults `server.busy` (503), `upload.too_many` (429). */
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
 * Stores how far an upload is, as often as the limit allows, and notices in doing so that nobody wants it any more. What cannot
 * be stored just now is stored the next time.
 */
export function progressOf(
  upload: {
    readonly taskId: string;
    readonly workId: string;
    /** Of what is counted, if that is known. */
    readonly expected: number | undefined;
    /** How much of the whole is done before it, and after it. */
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
    // Where no length is said there is nothing to compare with; it is told all the same that somebody is at work.
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

/** How fast the body of an upload must come: one that trickles would keep its place for days. */
export function leastPace({ config }: Pick<AssetsKit, 'config'>): Pace {
  return { rate: bytesOf(config.leastRate), window: paceWindow };
}

/** What a request says of the length of its body. */
export function lengthOf({ headers }: Request): number | undefined {
  const text = headers.get('content-length');
  return text !== null && /^\d{1,16}$/.test(text) ? Number(text) : undefined;
}
