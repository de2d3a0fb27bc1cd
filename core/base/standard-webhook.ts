/** How requests of webhooks are signed: Standard Webhooks 1.0.0. */
import { createHmac } from 'node:crypto';

/** Headers of every delivery, unless its format has others of these names; also used to check a URL. */
export const plainHeaders = { 'content-type': 'application/json', 'user-agent': 'Millrace-Webhooks/1' };

/** Before the base64 of a secret; a secret without it is the text itself. */
export const secretPrefix = 'whsec_';

/** Headers of one attempt, with one signature for each key of `sign`. `timestamp` is of the attempt, in seconds. */
export function standardHeaders({
  deliveryId,
  timestamp,
  body,
  sign,
}: {
  readonly deliveryId: string;
  readonly timestamp: number;
  readonly body: string;
  /** HMAC-SHA256 of a text, as base64, with each secret. */
  readonly sign: (text: string) => readonly string[];
}): Readonly<Record<string, string>> {
  const signatures = sign(`${deliveryId}.${timestamp}.${body}`);
  return {
    ...{ 'webhook-id': deliveryId, 'webhook-timestamp': String(timestamp) },
    ...(signatures.length > 0 && { 'webhook-signature': signatures.map((one) => `v1,${one}`).join(' ') }),
  };
}

/** HMAC of a text with a secret. */
export function hmac(
  text: string,
  {
    secret,
    algorithm = 'sha256',
    encoding = 'hex',
  }: {
    readonly secret: string;
    readonly algorithm?: 'sha1' | 'sha256' | 'sha512';
    readonly encoding?: 'hex' | 'base64' | 'base64url';
  },
): string {
  return createHmac(algorithm, bytesOf(secret)).update(text).digest(encoding);
}

function bytesOf(secret: string): Buffer {
  return secret.startsWith(secretPrefix)
    ? Buffer.from(secret.slice(secretPrefix.length), 'base64')
    : Buffer.from(secret, 'utf8');
}
