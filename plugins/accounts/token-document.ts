import { hash, randomBytes } from 'node:crypto';
import type { Access } from '../../core/http/access.ts';
import type { ResourceWrite, StoredResource } from '../../core/ports/store.ts';

/** What is stored of an API key. Of its secret only a hash, as an index. */
export interface TokenDocument {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly access: Access;
  /** Epoch ms. */
  readonly createdAt: number;
}

export function documentOf(row: StoredResource): TokenDocument {
  return JSON.parse(row.body) as TokenDocument;
}

/** The first row of a new key. */
export function newRow(document: TokenDocument, key: string): ResourceWrite & { revision: number } {
  const { id, account, name, createdAt, access } = document;
  const origins = access.cors?.allowedOrigins ?? [];
  return {
    kind: 'api-token',
    id,
    account,
    createdAt,
    name,
    body: JSON.stringify(document),
    indexes: {
      hash: hashOf(key).toString('hex'),
      ...Object.fromEntries(origins.map((origin) => [originIndex(origin), 'allowed'])),
    },
    revision: 0,
  };
}

/** The object that the API shows. `createdAt` in epoch ms. */
export function presentToken(document: TokenDocument): Record<string, unknown> {
  const { id, account, name, access, createdAt } = document;
  return { id, name, userId: account, access, createdAt };
}

export function newKey(): string {
  return `mr_${randomBytes(32).toString('base64url')}`;
}

/** A key has 256 random bits, so a plain hash cannot be reversed. */
export function hashOf(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}

/** Keys are found by the origins that they allow. */
export function originIndex(origin: string): string {
  return `origin ${origin}`;
}
