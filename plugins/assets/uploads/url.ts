import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Type } from '@sinclair/typebox';
import { authenticator } from '../../../core/http/auth.ts';
import type { Caller } from '../../../core/http/caller.ts';
import { idSchema } from '../../../core/http/operation.ts';
import type { Kit } from '../../../core/plugin/plugin.ts';
import { madeOnce } from '../asset/owner.ts';
import { revoked, uploadFault } from './faults.ts';

/** What a signed URL is good for: a PUT of a file, the creation of tus uploads, or one tus upload and the node that has it. */
export type UploadPlace =
  | { readonly what: 'PUT' | 'TUS'; readonly assetId: string }
  | ({ readonly what: 'TUS upload' } & TusPlace);

/** URLs by which whoever has them may upload the file of one asset for a while. They end with the API key that asked for them. */
export interface UploadUrls {
  make(place: UploadPlace, options: UrlOptions): Promise<string>;
  /** Faults `upload.altered`, `upload.revoked` and `upload.expired` (403), of one tus upload `upload.ended` (410). */
  check(place: UploadPlace, query: URLSearchParams): Promise<SignedFor>;
}

/** The query of such URLs. */
export const signedQuery = {
  expires: Type.String({ isRequired: true, examples: ['1767268800'] }),
  key: Type.String({ description: 'Id of the API key that asked for it.', examples: idSchema.examples }),
  signature: Type.String({ isRequired: true, examples: ['6Xk…'] }),
};

export interface UrlOptions {
  /** Epoch ms. */
  readonly expires: number;
  /** Who is given the URL. */
  readonly caller: Caller;
  /** Id of the API key with whose leave; undefined for the bootstrap key. */
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
    known ??= madeOnce(secretRow, () => ({ secret: randomBytes(secretSize).toString('base64') }), kit)
      .then(({ secret }) => Buffer.from(secret, 'base64'))
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
    // The first word says what for, so that one is never good for the other.
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
      // A line break in it could stand for the one before the key.
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
/** Bytes: as many as the hash has that it is the key of. */
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
