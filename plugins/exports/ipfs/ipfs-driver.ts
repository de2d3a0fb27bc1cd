import type { Kit } from '../../../core/plugin/plugin.ts';

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
export type IpfsKit = Pick<Kit, 'blobs' | 'clock' | 'deployment' | 'outbound' | 'use'>;
