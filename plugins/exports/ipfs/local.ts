import type { Kit } from '../../../core/plugin.ts';
import type { CidProfile } from '../../../core/ports/packer.ts';
import { exportsFolder } from '../../assets/contract.ts';
import type { IpfsDriver } from './ipfs-driver.ts';

/** Nobody else: CARs beside the asset's file, to be imported anywhere. They stay as long as the asset. */
export function local(
  { packer }: Pick<Kit, 'packer'>,
  { assetId, profile }: { readonly assetId: string; readonly profile: CidProfile },
): Pick<IpfsDriver, 'addFile' | 'addJson'> {
  const folder = exportsFolder(assetId);
  return {
    async addFile({ key, size }, { signal, progress }) {
      const { cid } = await packer.pack({ key, size }, { folder, profile, signal, progress });
      return { cid };
    },
    async addJson(document, { signal }) {
      const bytes = Buffer.from(JSON.stringify(document));
      const { cid } = await packer.pack({ bytes }, { folder, profile, signal });
      return { cid };
    },
  };
}
