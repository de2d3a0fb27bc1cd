import { ipfsSettings, type PinningCredentials } from '../../tasks/contract.ts';
import type { IpfsDriver, IpfsKit } from './ipfs-driver.ts';
import { kubo } from './kubo.ts';
import { local } from './local.ts';
import { pinning } from './pinning.ts';

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
