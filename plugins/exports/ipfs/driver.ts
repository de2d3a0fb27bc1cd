import type { Kit } from '../../../core/plugin.ts';
import { ipfsSettings, type PinningCredentials } from '../../tasks/contract.ts';
import { kubo } from './kubo.ts';
import { local } from './local.ts';
import { pinning } from './pinning.ts';

/**
 * How a file gets to IPFS. What it answers is there: pinned, or in blob storage. Repeating it is harmless: the same bytes are the
 * same CID. Faults of `faults.ts`, and those of the Packer and Blobs ports: with `retry: false` another try is of no use. None
 * repeats a credential. The reason of an aborted signal is thrown as it is.
 */
export interface IpfsDriver {
  /** The whole blob as one file of IPFS. `progress` 0..1. */
  addFile(
    file: { readonly key: string; readonly size: number; readonly name: string },
    options: { readonly signal: AbortSignal; progress(fraction: number): void },
  ): Promise<{ readonly cid: string }>;
  addJson(
    document: unknown,
    options: { readonly name: string; readonly signal: AbortSignal },
  ): Promise<{ readonly cid: string }>;
  /** `https://gateway/ipfs/<cid>` */
  gatewayUrl(cid: string): string;
}

/** What of a plugin's kit it takes. */
export type IpfsKit = Pick<Kit, 'blobs' | 'outbound' | 'packer' | 'use'>;

/** The driver that is configured; where a caller brings credentials, the pinning service whatever is configured. */
export function ipfsDriver(
  kit: IpfsKit,
  { assetId, credentials }: { readonly assetId: string; readonly credentials?: PinningCredentials },
): IpfsDriver {
  const settings = kit.use(ipfsSettings);
  const { gateway, cidProfile: profile, pinningEndpoint } = settings;
  const gatewayUrl = (cid: string) => `${gateway}/ipfs/${cid}`;
  const own = settings.driver === 'pinning' ? settings.credentials : undefined;
  const known = credentials ?? own;
  if (known) return { ...pinning(kit, { endpoint: pinningEndpoint, credentials: known }), gatewayUrl };
  if (settings.driver === 'kubo')
    return { ...kubo(kit, { endpoint: settings.endpoint, profile }), gatewayUrl };
  return { ...local(kit, { assetId, profile }), gatewayUrl };
}
