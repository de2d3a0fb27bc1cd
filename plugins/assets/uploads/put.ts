import { Fault, hasCode } from '../../../core/fault.ts';
import { uuid } from '../../../core/ids.ts';
import type { ReceivedFile } from '../../../core/ports/intake.ts';
import { bytesOf } from '../../../core/size.ts';
import { tasks } from '../../tasks/contract.ts';
import { accept, outputOf } from '../accept.ts';
import { keysOf } from '../contract.ts';
import { type AssetDocument, assetOf } from '../document.ts';
import type { AssetsKit } from '../kit.ts';
import { assetRow } from '../lookup.ts';
import { making } from '../making.ts';
import { accepted, busy, cancelled } from './faults.ts';
import { uploadPlaces } from './places.ts';
import { progressOf } from './progress.ts';
import { taskIdOf } from './task-of.ts';

/**
 * Takes the file of an asset: writes it down as it comes, looks into it, stores it, makes the asset ready. Any number of
 * tries, also side by side and on several nodes: the first file that is accepted is the asset's, and ends the others. A
 * try that ends otherwise leaves nothing but a task that waits for the next, or has failed with the reason.
 */
export function uploader(kit: AssetsKit): (request: Request, assetId: string) => Promise<AssetDocument> {
  const { clock, config, blobs, intake, log } = kit;
  const assets = making(kit);
  const places = uploadPlaces(config);
  const most = bytesOf(config.maxUploadSize);

  const documentOf = async (id: string): Promise<AssetDocument> => {
    const row = await assetRow(id, kit);
    if (row) return assetOf(row);
    throw deleted;
  };

  /** One try. Throws a Fault of `settled` when it is no use to try the same again. */
  const attempt = async (request: Request, upload: Upload): Promise<AssetDocument> => {
    const { assetId, taskId, workId, name } = upload;
    const ending = new AbortController();
    const expected = lengthOf(request);
    const unwanted = () => ending.abort(cancelled);
    const stop = () => ending.abort(stopping);
    kit.signal.addEventListener('abort', stop);
    const watch = { taskId, workId, expected };
    let file: ReceivedFile | undefined;
    try {
      file = await intake.receive(request.body, {
        most,
        ...(expected !== undefined && { expected }),
        signal: ending.signal,
        onBytes: progressOf(watch, { tasks: kit.use(tasks), clock, unwanted }),
      });
      // All is here: from now on it goes on without the client too.
      const made = await accept(upload, {
        ...{ file, signal: ending.signal, kit },
        async storing() {
          const isWanted = await kit.use(tasks).progress(taskId, { workId, progress: stage.storing });
          if (!isWanted) throw cancelled;
        },
      });
      const outcome = await assets.ready(assetId, made, { isFirst: true });
      if (outcome !== 'ok') {
        await blobs.delete(keysOf(made));
        throw outcome === 'gone' ? deleted : accepted;
      }
      await kit.use(tasks).complete(taskId, { ...outputOf(made, { name }) });
      return await documentOf(assetId);
    } finally {
      kit.signal.removeEventListener('abort', stop);
      await file?.discard();
    }
  };

  /** What a try that ended without a file leaves behind. */
  const settle = async (error: unknown, { assetId, taskId, workId }: Upload): Promise<void> => {
    const isFinal = hasCode(error, 'upload.refused') || hasCode(error, 'intake.too_large');
    if (!isFinal) return kit.use(tasks).interrupted(taskId, workId);
    const { message } = error as Fault;
    // Not while another try goes on, which may be a better one.
    if (await kit.use(tasks).fail(taskId, { workId, message })) await assets.fail(assetId, message);
  };

  return async (request, assetId) => {
    const { account, name, status } = await documentOf(assetId);
    const taskId = taskIdOf(assetId);
    const workId = uuid();
    if (status === 'ready') throw accepted;
    // Before anything is changed, or a byte is taken. What is too long for us is refused for that.
    const length = lengthOf(request) ?? 0;
    if (length <= most) await intake.checkRoom(length);
    const release = places.take(account);
    let letGo = () => {};
    try {
      await begin(taskId, workId);
      letGo = kit.hold(request);
      const upload = { assetId, taskId, workId, name };
      try {
        // Of one that had failed: it waits for this file now.
        if (status === 'failed') await assets.awaitAnew(assetId);
        return await attempt(request, upload);
      } catch (error) {
        await settle(error, upload).catch((trouble: unknown) => {
          // It is told when this process ends, or when the next try has an end.
          log.warn('the end of an upload could not be told', { asset: assetId, error: trouble });
        });
        throw await truthOf(error, assetId);
      }
    } finally {
      letGo();
      release();
    }
  };

  async function begin(taskId: string, workId: string): Promise<void> {
    if (await kit.use(tasks).begin(taskId, workId)) return;
    const phase = (await kit.use(tasks).find(taskId))?.phase;
    if (phase === undefined) throw deleted;
    if (phase === 'cancelled') throw cancelled;
    throw phase === 'running' ? busy : accepted;
  }

  /** A try that is not wanted any more was cancelled, or another one was faster. */
  async function truthOf(error: unknown, assetId: string): Promise<unknown> {
    if (error !== cancelled) return error;
    const row = await assetRow(assetId, kit);
    return row && assetOf(row).status === 'ready' ? accepted : cancelled;
  }
}

interface Upload {
  readonly assetId: string;
  readonly taskId: string;
  readonly workId: string;
  readonly name: string;
}

const deleted = new Fault('asset.not_found', { status: 404, message: 'The asset of this URL was deleted.' });
const stopping = new Fault('intake.unavailable', {
  status: 503,
  message: 'The server is about to end. Send the file again.',
  retryAfter: 5,
});
/** Progress when a file is about to be stored. */
const stage = { storing: 0.97 };

function lengthOf({ headers }: Request): number | undefined {
  const text = headers.get('content-length');
  return text !== null && /^\d{1,16}$/.test(text) ? Number(text) : undefined;
}
