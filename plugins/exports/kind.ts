import { Fault } from '../../core/base/fault.ts';
import type { LoggedEvent } from '../../core/ports/store.ts';
import { assets } from '../assets/contract.ts';
import { type TaskKind, type TaskResult, type TaskWork, tasks } from '../tasks/contract.ts';
import type { CustomParams, CustomSecret, IpfsParams, IpfsSecret } from './body.ts';
import type { ExportsKit } from './config.ts';
import { ipfsDriver } from './ipfs/driver.ts';
import { exportToIpfs } from './to-ipfs.ts';
import { exportToUrl } from './to-url.ts';

/** How long an export may wait for its turn, ms. */
const longestWait = 7 * 24 * 3_600_000;

/** Tasks of the type `export`. A repeat sends the file again: it is the same, and so is its CID. */
export function exportKind(kit: ExportsKit): TaskKind {
  /** Undefined when the asset was deleted. */
  const videoOf = async ({ inputAssetId, account }: Of) => {
    const asset = inputAssetId === null ? undefined : await kit.use(assets).find(inputAssetId);
    return asset?.account === account && asset.status === 'ready' ? asset.file?.video : undefined;
  };
  return {
    type: 'export',
    async renew(task) {
      if (!(await videoOf(task))) throw new Fault('task.not_possible', { status: 409, message: gone });
      return { deadline: deadlineOf(kit) };
    },
    async run(work): Promise<TaskResult> {
      const video = await videoOf(work);
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

/** Until when a task that begins now must have its turn, epoch ms. */
export function deadlineOf({ clock }: ExportsKit): number {
  return clock.now() + longestWait;
}

export const lateMessage = 'The export did not get its turn within a week.';

const gone = 'The asset of this export was deleted.';

type Of = Pick<TaskWork, 'inputAssetId' | 'account'>;

/** Of an asset that is deleted nothing is exported any more. One that begins at this moment finds it gone. */
export const exportReactions = {
  async 'asset.deleted'(event: LoggedEvent, kit: ExportsKit): Promise<void> {
    const { payload } = JSON.parse(event.body) as { payload: { asset: { id: string } } };
    await kit.use(tasks).cancelOf(payload.asset.id, 'export');
  },
};
