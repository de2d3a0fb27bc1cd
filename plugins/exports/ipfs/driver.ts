import { Fault } from '../../../core/fault.ts';
import type { PinningCredentials } from '../../tasks/contract.ts';
import type { ExportsKit } from '../kit.ts';

/** Puts things on IPFS. What cannot be repeated with success is a Fault with `retry: false`; the rest throws. */
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

/** The caller's credentials win: then it is the pinning service, whatever is configured. */
export function ipfsDriver(
  _kit: ExportsKit,
  _options: { readonly assetId: string; readonly credentials?: PinningCredentials },
): IpfsDriver {
  throw new Fault('internal', { status: 500, message: 'The drivers of IPFS are not there yet.' });
}
