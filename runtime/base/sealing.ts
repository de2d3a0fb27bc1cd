import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Secrets } from '../../core/ports/secrets.ts';

/** Of sealed texts; no value that a client may send begins like this and was stored by an older version. */
const mark = 'millrace:sealed:1:';
const cipher = 'aes-256-gcm';
const nonceLength = 12;
const tagLength = 16;
/** Purposes whose keys are remembered. Deriving one takes about 10 µs. */
const rememberedKeys = 1000;

/** Seals and derives with this key (RFC 5869 with SHA-256, AES-256-GCM). */
export function sealing(key: Uint8Array): Secrets {
  const keys = new Map<string, Uint8Array>();
  const keyFor = (purpose: string): Uint8Array => {
    let found = keys.get(purpose);
    if (!found) {
      found = new Uint8Array(hkdfSync('sha256', key, 'millrace', purpose, 32));
      if (keys.size >= rememberedKeys) keys.clear();
      keys.set(purpose, found);
    }
    // A copy: a caller that overwrites its own must not change that of others.
    return found.slice();
  };
  const own = keyFor('sealed values');
  return {
    keyFor,
    seal(text, context) {
      const nonce = randomBytes(nonceLength);
      const sealer = createCipheriv(cipher, own, nonce).setAAD(Buffer.from(context));
      const body = Buffer.concat([sealer.update(text, 'utf8'), sealer.final()]);
      return mark + Buffer.concat([nonce, sealer.getAuthTag(), body]).toString('base64url');
    },
    open(sealed, context) {
      if (!isSealed(sealed)) return sealed;
      const bytes = Buffer.from(sealed.slice(mark.length), 'base64url');
      const body = bytes.subarray(nonceLength + tagLength);
      try {
        const opener = createDecipheriv(cipher, own, bytes.subarray(0, nonceLength), {
          authTagLength: tagLength,
        })
          .setAAD(Buffer.from(context))
          .setAuthTag(bytes.subarray(nonceLength, nonceLength + tagLength));
        return Buffer.concat([opener.update(body), opener.final()]).toString('utf8');
      } catch {
        return undefined;
      }
    },
  };
}

/** Whether a text was made by `seal`. */
function isSealed(text: string): boolean {
  return text.startsWith(mark);
}
