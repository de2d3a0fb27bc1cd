import { randomBytes, randomUUID } from 'node:crypto';

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyz';

/** uuid v4. */
export function uuid(): string {
  return randomUUID();
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
