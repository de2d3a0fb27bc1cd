import { bytesOf } from '../../../core/base/config-fields.ts';
import { uuid } from '../../../core/base/ids.ts';
import { authenticator } from '../../../core/http/auth.ts';
import { hold } from '../../../core/http/hold.ts';
import { services } from '../../../core/plugin/services.ts';
import type { ReceivedFile } from '../../../core/ports/intake.ts';
import { tasks } from '../../tasks/contract.ts';
import type { AssetDocument } from '../document.ts';
import type { AssetsKit } from '../kit.ts';
import { isNormalised } from '../normalise.ts';
import { comeStage } from '../stages.ts';
import { accepted, cancelled, stopping } from './faults.ts';
import { leastPace } from './pace.ts';
import { progressOf } from './progress.ts';
import { taskIdOf } from './task-of.ts';
import type { Try, UploadTries } from './tries.ts';
import { revoked, type SignedFor } from './url.ts';

/** Takes the file of an asset in one request: writes it down as it comes, looks into it, stores it, makes the asset ready. */
export function uploader(
  kit: AssetsKit,
  { tries }: { tries: UploadTries },
): (request: Request, to: { assetId: string; by: Pick<SignedFor, 'keyId'> }) => Promise<AssetDocument> {
  const { clock, config, log } = kit;
  const intake = kit.use(services.intake);
  const most = bytesOf(config.maxUploadSize);

  /** Throws a Fault of `settle` when it is no use to try the same again. */
  const attempt = async (
    request: Request,
    { of, by }: { of: Try; by: Pick<SignedFor, 'keyId'> },
  ): Promise<AssetDocument> => {
    const { taskId, workId } = of;
    const ending = new AbortController();
    const expected = lengthOf(request);
    const unwanted = () => ending.abort(cancelled);
    const stop = () => ending.abort(stopping);
    kit.signal.addEventListener('abort', stop);
    const unsubscribe = kit.use(authenticator).onRevoked(by, () => ending.abort(revoked));
    let file: ReceivedFile | undefined;
    try {
      const watch = { taskId, workId, expected, to: comeStage(await isNormalised(kit)) };
      file = await intake.receive(request.body, {
        most,
        ...(expected !== undefined && { expected }),
        least: leastPace(kit),
        signal: ending.signal,
        onBytes: progressOf(watch, { tasks: kit.use(tasks), clock, unwanted }),
      });
      unsubscribe();
      // All is here: from now on it goes on without the client too.
      return await tries.take(file, { of, name: workId, signal: ending.signal });
    } finally {
      unsubscribe();
      kit.signal.removeEventListener('abort', stop);
      await file?.discard();
    }
  };

  return async (request, { assetId, by }) => {
    const document = await tries.documentOf(assetId);
    if (document.status === 'ready') throw accepted;
    // Before anything is changed, or a byte is taken. What is too long for us is refused for that.
    const length = lengthOf(request) ?? 0;
    if (length <= most) await intake.checkRoom(length);
    const of = { assetId, taskId: taskIdOf(assetId), workId: uuid(), assetName: document.name };
    const release = tries.places.take(document.account);
    let letGo = () => {};
    try {
      await tries.begin(of);
      letGo = hold(request);
      try {
        await tries.awaitAnew(document);
        return await attempt(request, { of, by });
      } catch (error) {
        await tries.settle(error, of).catch((trouble: unknown) => {
          // It is told when this process ends, or when the next try has an end.
          log.warn('the end of an upload could not be told', { asset: assetId, error: trouble });
        });
        throw await tries.truthOf(error, of);
      }
    } finally {
      letGo();
      release();
    }
  };
}

/** What a request says of the length of its body. */
export function lengthOf({ headers }: Request): number | undefined {
  const text = headers.get('content-length');
  return text !== null && /^\d{1,16}$/.test(text) ? Number(text) : undefined;
}
