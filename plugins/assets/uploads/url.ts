import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Type } from '@sinclair/typebox';
import { authenticator } from '../../../core/http/auth.ts';
import type { Caller } from '../../../core/http/caller.ts';
import { idSchema } from '../../../core/http/operation.ts';
import type { Kit } from '../../../core/plugin/plugin.ts';
import { services } from '../../../core/plugin/services.ts';
import { madeOnce } from '../asset/owner.ts';
import { revoked, uploadFault } from './faults.ts';

/** What a signed URL allows: a PUT of a file, creating tus uploads, or one tus upload on a certain node. */
export type UploadPlace =
  | { readonly what: 'PUT' | 'TUS'; readonly assetId: string }
  | ({ readonly what: 'TUS upload' } & TusPlace);

/** Signed URLs to upload the file of one asset. They are valid for some time, and as long as the API key that requested them. */
export interface UploadUrls {
  make(place: UploadPlace, options: UrlOptions): Promise<string>;
  /** Faults `upload.altered`, `upload.revoked` and `upload.expired` (403), of one tus upload `upload.ended` (410). */
  check(place: UploadPlace, query: URLSearchParams): Promise<SignedFor>;
}

/** The query parameters of such URLs. */
export const signedQuery = {
  expires: Type.String({ isRequired: true, examples: ['1767268800'] }),
  key: Type.String({ description: 'Id of the API key that asked for it.', examples: idSchema.examples }),
  signature: Type.String({ isRequired: true, examples: ['6Xk…'] }),
};

export interface UrlOptions {
  /** Epoch ms. */
  readonly expires: number;
  /** The client that receives the URL. */
  readonly caller: Caller;
  /** Id of the API key that requested it; undefined for the bootstrap key. */
  readonly keyId: string | undefined;
}

export interface SignedFor {
  /** Epoch ms. */
  readonly expires: number;
  readonly keyId: string | undefined;
}

export interface TusPlace {
  readonly assetId: string;
  readonly uploadId: string;
  readonly node: string;
}

export function uploadUrls(kit: UrlKit): UploadUrls {
  const { clock, use } = kit;
  let known: Promise<Buffer> | undefined;
  const secret = () => {
    const { seal, open } = kit.use(services.secrets);
    const make = () => ({ secret: seal(randomBytes(secretSize).toString('base64'), secretContext) });
    known ??= madeOnce(secretRow, make, kit)
      .then(({ secret }) => {
        const opened = open(secret, secretContext);
        if (opened === undefined) throw new Error('the secret of upload URLs cannot be decrypted');
        return Buffer.from(opened, 'base64');
      })
      .catch((error) => {
        known = undefined;
        throw error;
      });
    return known;
  };
  const signatureOf = async (
    place: UploadPlace,
    { expires, keyId }: { expires: string; keyId: string | undefined },
  ) => {
    // The first word is the purpose, so a URL for one purpose is never valid for another.
    const of = place.what === 'TUS upload' ? [place.uploadId, place.node] : [];
    const words = [place.what, place.assetId, ...of, expires, ...(keyId === undefined ? [] : [keyId])];
    return createHmac('sha256', await secret())
      .update(words.join('\n'))
      .digest();
  };
  return {
    async make(place, { expires: time, caller, keyId }) {
      const expires = String(Math.floor(time / 1000));
      const signature = (await signatureOf(place, { expires, keyId })).toString('base64url');
      const isOne = place.what === 'TUS upload';
      const query = {
        ...(isOne && { node: place.node }),
        ...{ expires, ...(keyId !== undefined && { key: keyId }), signature },
      };
      const path = `${place.assetId}${place.what === 'PUT' ? '' : '/tus'}${isOne ? `/${place.uploadId}` : ''}`;
      return `${caller.baseUrl}/upload/${path}?${new URLSearchParams(query)}`;
    },
    async check(place, query) {
      const expires = query.get('expires') ?? '';
      const given = Buffer.from(query.get('signature') ?? '', 'base64url');
      const keyId = query.get('key') ?? undefined;
      const right = await signatureOf(place, { expires, keyId });
      // A line break in `expires` could be taken for the separator before the key.
      if (!/^\d+$/.test(expires)) throw altered;
      if (given.length !== right.length || !timingSafeEqual(given, right)) throw altered;
      const time = Number(expires) * 1000;
      if (clock.now() >= time) throw place.what === 'TUS upload' ? ended : expired;
      if (!(await use(authenticator).exists(keyId))) throw revoked;
      return { expires: time, keyId };
    },
  };
}

type UrlKit = Pick<Kit, 'resources' | 'clock' | 'use'>;

/** The deployment's secret for such URLs. */
const secretRow = { kind: 'upload-secret', id: 'urls' };
const secretContext = 'upload-secret/urls';
/** Bytes; as many as SHA-256 has. */
const secretSize = 32;

const altered = uploadFault(
  'upload.altered',
  'This is not an upload URL of ours, or it was altered. Use it exactly as it was given.',
);
const expired = uploadFault(
  'upload.expired',
  'This upload URL has expired. Ask for another with POST /api/asset/request-upload, or retry its task.',
);
const ended = uploadFault(
  'upload.ended',
  'This upload has expired, and its bytes were removed. Ask for another with POST /api/asset/request-upload, or retry its task.',
);
