import type { Kit } from '../../../core/plugin/plugin.ts';
import { services } from '../../../core/plugin/services.ts';
import { typeOf } from '../../../core/ports/blobs.ts';
import type { CidProfile, PackSource } from '../../../core/ports/packer.ts';
import { exportsFolder } from '../../assets/contract.ts';
import type { IpfsDriver } from './ipfs-driver.ts';
import { publish } from './published.ts';

/** Nobody else: CARs beside the asset's file, to be imported anywhere, and served at `/ipfs/{cid}`. They stay as long as the asset. */
export function local(
  kit: Pick<Kit, 'blobs' | 'use'>,
  { assetId, profile }: { readonly assetId: string; readonly profile: CidProfile },
): Pick<IpfsDriver, 'addFile' | 'addJson'> {
  const { blobs } = kit;
  const packer = kit.use(services.packer);
  const folder = exportsFolder(assetId);
  const add = async (source: PackSource, options: AddOptions) => {
    const { signal, progress, type } = options;
    const car = await packer.pack(source, { folder, profile, signal, ...(progress && { progress }) });
    const { content } = car.places;
    const file =
      'key' in source
        ? { key: source.key, from: 0, to: source.size }
        : content && { key: car.key, ...content };
    await publish({ ...car, assetId, type, ...(file && { file }) }, blobs);
    return { cid: car.cid };
  };
  return {
    addFile: ({ key, size }, { signal, progress }) =>
      add({ key, size }, { signal, progress, type: typeOf(key) }),
    addJson(document, { signal }) {
      const bytes = Buffer.from(JSON.stringify(document));
      return add({ bytes }, { signal, type: 'application/json' });
    },
  };
}

interface AddOptions {
  readonly signal: AbortSignal;
  /** Media type of the file. */
  readonly type: string;
  progress?(fraction: number): void;
}
