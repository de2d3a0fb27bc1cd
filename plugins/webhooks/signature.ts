import { createHmac } from 'node:crypto';
import type { Secret } from './webhook.ts';

const prefix = 'whsec_';
/** What a `sharedSecret` must come to at least. */
export const leastSecretBytes = 8;
/** How long a replaced secret signs beside the new one. */
const rotation = 24 * 3_600_000;
/** That sign at once; of more, the oldest ends at once. */
const maxSecrets = 4;

/** Matches a `sharedSecret`: eight bytes are at least two groups of base64 and one of three characters. */
export const secretPattern = (() => {
  const group = '[A-Za-z0-9+/]{4}';
  const two = '[A-Za-z0-9+/]{2}(?:==)?';
  const three = '[A-Za-z0-9+/]{3}=?';
  return `^(?:(?!${prefix})[\\s\\S]{${leastSecretBytes},}|${prefix}(?:(?:${group}){2}${three}|(?:${group}){3,}(?:${two}|${three})?))$`;
})();

/**
 * Value of `webhook-signature` (Standard Webhooks 1.0.0): one `v1` signature for each valid secret, the current one first.
 * @param message `timestamp`: seconds
 */
export function signatureOf(
  secrets: readonly Secret[],
  message: { id: string; timestamp: number; body: string },
): string {
  const { id, timestamp, body } = message;
  const signatures = secrets.map(({ value }) =>
    createHmac('sha256', bytesOf(value)).update(`${id}.${timestamp}.${body}`).digest('base64'),
  );
  return signatures.map((signature) => `v1,${signature}`).join(' ');
}

/** Those that sign at this time. */
export function validSecrets(secrets: readonly Secret[], now: number): readonly Secret[] {
  return secrets.filter(({ until }) => until === null || until > now);
}

/** The secrets after another was given; null ends them all at once. The current one again changes nothing. */
export function rotated(secrets: readonly Secret[], given: string | null, now: number): readonly Secret[] {
  if (given === null) return [];
  if (secrets[0]?.value === given) return secrets;
  const former = validSecrets(secrets, now)
    .filter(({ value }) => value !== given)
    .map(({ value, until }) => ({ value, until: until ?? now + rotation }));
  return [{ value: given, until: null }, ...former].slice(0, maxSecrets);
}

/** The bytes of a secret: base64 behind `whsec_`, else the text itself. */
function bytesOf(value: string): Buffer {
  return value.startsWith(prefix)
    ? Buffer.from(value.slice(prefix.length), 'base64')
    : Buffer.from(value, 'utf8');
}
