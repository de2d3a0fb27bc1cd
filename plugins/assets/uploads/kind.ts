import { Fault } from '../../../core/base/fault.ts';
import type { TaskKind } from '../../tasks/contract.ts';
import type { AssetsKit } from '../kit.ts';
import { assetLimits } from '../limits.ts';
import { making } from '../making.ts';
import { uploadUrls } from './url.ts';

/** How uploads are tried again: the asset waits once more, and there is a new URL for its file. */
export function uploadKind(kit: AssetsKit): TaskKind {
  const urls = uploadUrls(kit);
  return {
    type: 'upload',
    async renew({ outputAssetId }, { caller, keyId }) {
      const isThere = outputAssetId !== null && (await making(kit).awaitAnew(outputAssetId));
      if (!isThere) {
        const message = 'The asset of this upload was deleted, or has its file: there is nothing to retry.';
        throw new Fault('task.not_possible', { status: 409, message });
      }
      const deadline = kit.clock.now() + assetLimits.uploadUrl;
      const given = { expires: deadline, caller, keyId };
      const url = await urls.make(outputAssetId, given);
      return { deadline, params: { url, tusEndpoint: await urls.makeTus(outputAssetId, given) } };
    },
  };
}
