import { services } from '../../../core/plugin/services.ts';
import { typeOf } from '../../../core/ports/blobs.ts';
import type { CidProfile, PackSource } from '../../../core/ports/packer.ts';
import { exportsFolder } from '../../assets/contract.ts';
import { ipfsSettings, type PinningCredentials } from '../../tasks/contract.ts';
import type { IpfsDriver, IpfsKit } from './ipfs-driver.ts';
import { kubo } from './kubo.ts';
import { pinning } from './pinning.ts';
import { publish } from './published.ts';

/** The driver that is configured; where a caller brings credentials, the pinning service whatever is configured. */
export function ipfsDriver(
  kit: IpfsKit,
  { assetId, credentials }: { readonly assetId: string; readonly credentials?: PinningCredentials },
): IpfsDriver {
  const settings = kit.use(ipfsSettings);
  const { gateway, cidProfile: profile, pinningEndpoint } = settings;
  const linksTo = (base: string) => ({ gatewayUrl: (cid: string) => `${gateway ?? base}/ipfs/${cid}` });
  const own = settings.driver === 'pinning' ? settings.credentials : undefined;
  const known = credentials ?? own;
  if (known)
    return { ...pinning(kit, { endpoint: pinningEndpoint, credentials: known }), ...linksTo(publicGateway) };
  if (settings.driver === 'kubo')
    return { ...kubo(kit, { endpoint: settings.endpoint, profile }), ...linksTo(publicGateway) };
  return { ...local(kit, { assetId, profile }), ...linksTo(kit.deployment.publicUrl) };
}

const publicGateway = 'https://ipfs.io';

/** Packs CARs beside the asset's file, to be imported anywhere, and served at `/ipfs/{cid}`. They stay as long as the asset. */
function local(
  { blobs, use }: IpfsKit,
  { assetId, profile }: { readonly assetId: string; readonly profile: CidProfile },
): Pick<IpfsDriver, 'addFile' | 'addJson'> {
  const packer = use(services.packer);
  const add = async (
    source: PackSource,
    { type, ...options }: { readonly type: string; signal: AbortSignal; progress?(fraction: number): void },
  ) => {
    const car = await packer.pack(source, { folder: exportsFolder(assetId), profile, ...options });
    const { content } = car.places;
    const packed = content && { key: car.key, ...content };
    const file = 'key' in source ? { key: source.key, from: 0, to: source.size } : packed;
    await publish({ ...car, assetId, type, ...(file && { file }) }, blobs);
    return { cid: car.cid };
  };
  return {
    addFile: ({ key, size }, options) => add({ key, size }, { ...options, type: typeOf(key) }),
    addJson(document, { signal }) {
      const bytes = Buffer.from(JSON.stringify(document));
      return add({ bytes }, { signal, type: 'application/json' });
    },
  };
}
