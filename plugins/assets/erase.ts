import { effect } from '../../core/plugin/plugin.ts';
import { blobLimits } from '../../core/ports/blobs.ts';
import type { Erasure } from '../../machines/asset.ts';
import type { config } from './config.ts';
import { folderOf } from './document.ts';
import { assetLimits } from './limits.ts';

/** Removes the blobs of a deleted asset: all that lies in its folder. */
export const eraseEffect = effect<Erasure, null, typeof config>({
  concurrency: assetLimits.erasures,
  timeout: assetLimits.eraseTime,
  async run({ input: { id }, signal }, { blobs, log }) {
    let count = 0;
    for (let after: string | undefined; ; ) {
      signal.throwIfAborted();
      const limit = blobLimits.listed;
      const page = await blobs.list(folderOf(id), { limit, ...(after !== undefined && { after }) });
      if (page.blobs.length > 0) await blobs.delete(page.blobs.map(({ key }) => key));
      count += page.blobs.length;
      after = page.next;
      if (after === undefined) break;
    }
    // A death behind the last blob may have left its folder, which no listing shows: whoever deletes something there takes it away.
    await blobs.delete([`${folderOf(id)}none.bin`]);
    log.info('the file of a deleted asset was erased', { asset: id, blobs: count });
    return null;
  },
});
