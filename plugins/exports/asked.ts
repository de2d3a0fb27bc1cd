import type { OutboundMethod } from '../../core/ports/outbound.ts';
import type { PinningCredentials } from '../tasks/contract.ts';
import type { ExportBody } from './body.ts';

/** What an export was asked to be. What may be shown of it is in the task's `params`, the rest in its `secret`. */
export type Asked =
  | { readonly params: { readonly ipfs: IpfsParams }; readonly secret: { readonly ipfs: IpfsSecret } }
  | {
      readonly params: { readonly custom: CustomParams };
      readonly secret: { readonly custom: CustomSecret };
    };

export interface IpfsParams {
  /** The caller brought credentials. */
  readonly pinning?: true;
  readonly erc1155Metadata?: Readonly<Record<string, unknown>>;
}

export interface IpfsSecret {
  readonly pinning?: PinningCredentials;
}

export interface CustomParams {
  /** Without its query, which may be a signature. */
  readonly url: string;
  readonly method: CustomMethod;
  /** Their names. */
  readonly headers?: readonly string[];
}

export interface CustomSecret {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export type CustomMethod = Extract<OutboundMethod, 'PUT' | 'POST' | 'PATCH'>;

/** The schema has seen to it that it is one of them. */
export function methodOf({ method = 'PUT' }: { readonly method?: string }): CustomMethod {
  return method.toUpperCase() as CustomMethod;
}

/** The two halves of a request that was found to be in order. */
export function askedBy({ ipfs, custom }: ExportBody): Asked {
  if (custom) {
    const { url, headers = {} } = custom;
    const method = methodOf(custom);
    const { origin, pathname } = new URL(url);
    const names = Object.keys(headers);
    const shown = { url: `${origin}${pathname}`, method, ...(names.length > 0 && { headers: names }) };
    return { params: { custom: shown }, secret: { custom: { url, headers } } };
  }
  const { pinning, erc1155Metadata = ipfs?.nftMetadata } = ipfs ?? {};
  return {
    params: { ipfs: { ...(pinning && { pinning: true }), ...(erc1155Metadata && { erc1155Metadata }) } },
    secret: { ipfs: pinning ? { pinning: credentialsOf(pinning) } : {} },
  };
}

function credentialsOf({ jwt, apiKey = '', apiSecret = '' }: Pinning): PinningCredentials {
  return jwt === undefined ? { apiKey, apiSecret } : { jwt };
}

type Pinning = NonNullable<NonNullable<ExportBody['ipfs']>['pinning']>;
