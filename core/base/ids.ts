import { createHash, randomBytes, randomUUID } from 'node:crypto';

const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const alphabet = '0123456789abcdefghijklmnopqrstuvwxyz';

/** uuid v4. */
export function uuid(): string {
  return randomUUID();
}

/** Whether text is a uuid as `uuid` writes it, of any version. */
export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}

/**
 * The id that what belongs to something has from the first, before it is made: the same for the same text. Shaped as a
 * uuid v4, with 122 bits of the SHA-256 of the text.
 */
export function derivedId(of: string): string {
  const bytes = createHash('sha256').update(of).digest();
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return bytes.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** `xxxx-xxxx-xxxx-xxxx` in base36: 82 bits from a CSPRNG. */
export function newStreamKey(): string {
  return base36(16).replace(/.{4}(?!$)/g, '$&-');
}

/** 16 base36 characters. */
export function newPlaybackId(): string {
  return base36(16);
}

function base36(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      // 252 = 7 × 36: higher bytes would favour the first letters.
      if (byte < 252 && text.length < length) text += alphabet[byte % 36];
    }
  }
  return text;
}

/** Stands for an id in examples; nothing has it. */
export const exampleId = '00000000-0000-4000-8000-000000000000';
