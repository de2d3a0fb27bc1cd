import { Fault } from '../../core/base/fault.ts';
import { assets } from '../assets/contract.ts';
import type { TaskKind, TaskResult } from '../tasks/contract.ts';
import type { CustomParams, CustomSecret, IpfsParams, IpfsSecret } from './body.ts';
import type { ExportsKit } from './config.ts';
import { ipfsDriver } from './ipfs/driver.ts';
import { exportToIpfs } from './to-ipfs.ts';
import { exportToUrl } from './to-url.ts';

/** Tasks of the type `export`. A repeat sends the file again: it is the same, and so is its CID. */
export function exportKind(kit: ExportsKit): TaskKind {
  return {
    type: 'export',
    async renew(task) {
      if (!(await kit.use(assets).inputOf(task)))
        throw new Fault('task.not_possible', { status: 409, message: gone });
      return {};
    },
    async run(work): Promise<TaskResult> {
      const video = (await kit.use(assets).inputOf(work))?.video;
      const assetId = work.inputAssetId;
      if (!video || assetId === null) return { outcome: 'failed', message: gone };
      // As `askedBy` made them.
      const { custom, ipfs } = work.params as { custom?: CustomParams; ipfs?: IpfsParams };
      const secret = work.secret as { custom?: CustomSecret; ipfs?: IpfsSecret };
      if (custom && secret.custom) {
        return exportToUrl({ ...secret.custom, method: custom.method }, { work, video, kit });
      }
      const credentials = secret.ipfs?.pinning;
      const driver = ipfsDriver(kit, { assetId, ...(credentials && { credentials }) });
      return exportToIpfs(video, { work, driver, metadata: ipfs?.erc1155Metadata });
    },
  };
}

const gone = 'The asset of this export was deleted.';
