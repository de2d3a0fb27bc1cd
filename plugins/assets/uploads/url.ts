import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Fault } from '../../../core/base/fault.ts';
import { authenticator } from '../../../core/http/auth.ts';
import type { Caller } from '../../../core/http/caller.ts';
import type { Kit } from '../../../core/plugin/plugin.ts';

/**
 * Makes and checks URLs that may be used to upload the file of one asset, by whoever has them, for a while. `expires`: epoch ms;
 * seconds count.
 */
export interface UploadUrls {
  /** Takes a PUT. All URLs end with the API key that asked for them. */
  make(assetId: string, options: UrlOptions): Promise<string>;
  /** Answers whose URL it is. Faults `upload.altered`, `upload.expired` and `upload.revoked` (403). */
  check(assetId: string, query: URLSearchParams): Promise<SignedFor>;
  /** Where tus uploads are created. */
  makeTus(assetId: string, options: UrlOptions): Promise<string>;
  /** The same of an endpoint of tus. */
  checkTus(assetId: string, query: URLSearchParams): Promise<SignedFor>;
  /** One tus upload, and the node that has it. */
  makeTusUpload(place: TusPlace, options: UrlOptions): Promise<string>;
  /** Faults `upload.altered` and `upload.revoked` (403), `upload.ended` (410). */
  checkTusUpload(at: Omit<TusPlace, 'node'>, query: URLSearchParams): Promise<TusPlace>;
}

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

export function uploadUrls({ resources, clock, use }: UrlKit): UploadUrls {
  let known: Promise<Buffer> | undefined;
  const secret = () => {
    known ??= ownSecret({ resources, clock }).catch((error) => {
      known = undefined;
      throw error;
    });
    return known;
  };
  /** The first word says what for, so that one is never good for the other; what is given has no line break when it is right. */
  const signatureOf = async (words: readonly string[]): Promise<Buffer> =>
    createHmac('sha256', await secret())
      .update(words.join('\n'))
      .digest();
  const signed = async (path: string, { words, given, caller, keyId }: Signed) => {
    const signature = (await signatureOf(withKey(words, keyId))).toString('base64url');
    const all = { ...given, ...(keyId !== undefined && { key: keyId }), signature };
    return `${caller.baseUrl}/upload/${path}?${new URLSearchParams(all)}`;
  };
  const checked = async (
    query: URLSearchParams,
    { words, late }: { words(expires: string): readonly string[]; late: Fault },
  ): Promise<SignedFor> => {
    const expires = query.get('expires') ?? '';
    const given = Buffer.from(query.get('signature') ?? '', 'base64url');
    const keyId = query.get('key') ?? undefined;
    const right = await signatureOf(withKey(words(expires), keyId));
    // A line break in it could stand for the one before the key.
    if (!/^\d+$/.test(expires)) throw altered;
    if (given.length !== right.length || !timingSafeEqual(given, right)) throw altered;
    const time = Number(expires) * 1000;
    if (clock.now() >= time) throw late;
    if (!(await use(authenticator).exists(keyId))) throw revoked;
    return { expires: time, keyId };
  };
  const ofPut = (assetId: string) => (expires: string) => ['PUT', assetId, expires];
  const ofTus = (assetId: string) => (expires: string) => ['TUS', assetId, expires];
  const ofTusUpload =
    ({ assetId, uploadId, node }: TusPlace) =>
    (expires: string) => ['TUS upload', assetId, uploadId, node, expires];

  return {
    make(assetId, { expires: time, ...by }) {
      const expires = inSeconds(time);
      return signed(assetId, { words: ofPut(assetId)(expires), given: { expires }, ...by });
    },
    check: (assetId, query) => checked(query, { words: ofPut(assetId), late: expired }),
    makeTus(assetId, { expires: time, ...by }) {
      const expires = inSeconds(time);
      return signed(`${assetId}/tus`, { words: ofTus(assetId)(expires), given: { expires }, ...by });
    },
    checkTus: (assetId, query) => checked(query, { words: ofTus(assetId), late: expired }),
    makeTusUpload(place, { expires: time, ...by }) {
      const { assetId, uploadId, node } = place;
      const expires = inSeconds(time);
      const given = { node, expires };
      return signed(`${assetId}/tus/${uploadId}`, { words: ofTusUpload(place)(expires), given, ...by });
    },
    async checkTusUpload(at, query) {
      const place = { ...at, node: query.get('node') ?? '' };
      await checked(query, { words: ofTusUpload(place), late: ended });
      return place;
    },
  };
}

function inSeconds(time: number): string {
  return String(Math.floor(time / 1000));
}

interface Signed {
  readonly words: readonly string[];
  readonly given: Readonly<Record<string, string>>;
  readonly caller: Caller;
  readonly keyId: string | undefined;
}

function withKey(words: readonly string[], keyId: string | undefined): readonly string[] {
  return keyId === undefined ? words : [...words, keyId];
}

type UrlKit = Pick<Kit, 'resources' | 'clock' | 'use'>;

/** The deployment's secret for such URLs: made by the first node that needs it, the same on all. */
async function ownSecret({ resources, clock }: Pick<UrlKit, 'resources' | 'clock'>): Promise<Buffer> {
  for (;;) {
    const row = await resources.get(kind, id);
    if (row) return Buffer.from((JSON.parse(row.body) as { secret: string }).secret, 'base64');
    const body = JSON.stringify({ secret: randomBytes(secretSize).toString('base64') });
    const first = { kind, id, account: '', createdAt: clock.now(), name: '', body, indexes: {}, revision: 0 };
    // Another node may be the first: then it is that one's.
    await resources.write({ rows: [first], events: [] });
  }
}

const kind = 'upload-secret';
const id = 'urls';
/** Bytes: as many as the hash has that it is the key of. */
const secretSize = 32;

const altered = new Fault('upload.altered', {
  status: 403,
  message: 'This is not an upload URL of ours, or it was altered. Use it exactly as it was given.',
});
const expired = new Fault('upload.expired', {
  status: 403,
  message:
    'This upload URL has expired. Ask for another with POST /api/asset/request-upload, or by a retry of its task.',
});
/** Of a URL, or of a file that comes by it. */
export const revoked = new Fault('upload.revoked', {
  status: 403,
  message: 'The API key that asked for this upload URL was deleted. Ask for another URL with another key.',
});
const ended = new Fault('upload.ended', {
  status: 410,
  message:
    'The time of this upload is up, and what had come of it is gone. Ask for another with POST /api/asset/request-upload, or by a retry of its task.',
});
