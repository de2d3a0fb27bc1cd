import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Fault } from '../../../core/fault.ts';
import type { Kit } from '../../../core/plugin.ts';

/** Makes and checks URLs that may be used to upload the file of one asset, by whoever has them, for a while. */
export interface UploadUrls {
  /** @param expires epoch ms; seconds count */
  make(assetId: string, expires: number): Promise<string>;
  /** Faults `upload.altered` and `upload.expired` (403). */
  check(assetId: string, query: URLSearchParams): Promise<void>;
}

export function uploadUrls({ resources, clock, deployment }: UrlKit): UploadUrls {
  let known: Promise<Buffer> | undefined;
  const secret = () => {
    known ??= ownSecret({ resources, clock }).catch((error) => {
      known = undefined;
      throw error;
    });
    return known;
  };
  const signatureOf = async (assetId: string, expires: string): Promise<Buffer> =>
    createHmac('sha256', await secret())
      .update(`PUT\n${assetId}\n${expires}`)
      .digest();

  return {
    async make(assetId, expires) {
      const seconds = String(Math.floor(expires / 1000));
      const signature = (await signatureOf(assetId, seconds)).toString('base64url');
      return `${deployment.publicUrl}/upload/${assetId}?expires=${seconds}&signature=${signature}`;
    },
    async check(assetId, query) {
      const expires = query.get('expires') ?? '';
      const given = Buffer.from(query.get('signature') ?? '', 'base64url');
      const right = await signatureOf(assetId, expires);
      if (given.length !== right.length || !timingSafeEqual(given, right)) throw altered;
      // Signed by us, so it is a number.
      if (clock.now() >= Number(expires) * 1000) throw expired;
    },
  };
}

type UrlKit = Pick<Kit, 'resources' | 'clock' | 'deployment'>;

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
const secretSize = 0x20;

const altered = new Fault('upload.altered', {
  status: 403,
  message: 'This is not an upload URL of ours, or it was altered. Use it exactly as it was given.',
});
const expired = new Fault('upload.expired', {
  status: 403,
  message:
    'This upload URL has expired. Ask for another with POST /api/asset/request-upload, or by a retry of its task.',
});
