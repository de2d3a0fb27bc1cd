import { hash, randomBytes } from 'node:crypto';
import type { Access } from '../../core/http/access.ts';
import type { ResourceWrite, StoredResource } from '../../core/ports/store.ts';

/** What is stored of an API key. Of its secret only a hash. */
export interface TokenDocument {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly access: Access;
  /** Epoch ms. */
  readonly createdAt: number;
  /** From then on it is as if it were deleted; epoch ms. */
  readonly expiresAt?: number;
  /** The API key that made it; absent for the bootstrap key. */
  readonly createdByKeyId?: string;
  /**
   * Where that one was deleted alone: those above it, up to the first that was left, nearest first. It is deleted with each of them as
   * if that had made it.
   */
  readonly heldByKeyIds?: readonly string[];
  /** When a request last came with it, to the hour; epoch ms. */
  readonly lastUsedAt?: number;
  /** Of its secret, in hex. Rows of 0.1.0 have it in their index only, until their next use. */
  readonly hash?: string;
}

export function documentOf(row: StoredResource): TokenDocument {
  return JSON.parse(row.body) as TokenDocument;
}

/** The first row of a new key. */
export function newRow(document: TokenDocument, key: string): VersionedRow {
  return rowOf(document, { hash: hashOf(key).toString('hex'), revision: 0 });
}

/** The row of a key, found by the hash of its secret and by the key that made it. */
export function rowOf(
  document: TokenDocument,
  { hash, revision }: { hash: string; revision: number },
): VersionedRow {
  const { id, account, name, createdAt, access, createdByKeyId, heldByKeyIds = [] } = document;
  const origins = access.cors?.allowedOrigins ?? [];
  return {
    kind: 'api-token',
    id,
    account,
    createdAt,
    name,
    body: JSON.stringify({ ...document, hash }),
    indexes: {
      hash,
      ...(createdByKeyId !== undefined && { createdByKeyId }),
      ...Object.fromEntries(heldByKeyIds.map((holder) => [holderIndex(holder), 'held'])),
      ...Object.fromEntries(origins.map((origin) => [originIndex(origin), 'allowed'])),
    },
    revision,
  };
}

type VersionedRow = ResourceWrite & { readonly revision: number };

/** A row as it was read: a write with it fails where the key was changed or deleted since. Undefined until it knows its hash. */
export function touchedRow(row: StoredResource): VersionedRow | undefined {
  const document = documentOf(row);
  const { hash } = document;
  return hash === undefined ? undefined : rowOf(document, { hash, revision: row.revision });
}

/** The row of a key that was made by, or is held by, one that is deleted alone; undefined where it is as it has to be. */
export function passedOnRow(row: StoredResource, deleted: TokenDocument): VersionedRow | undefined {
  const document = documentOf(row);
  const { hash, heldByKeyIds: held = [] } = document;
  const below = held.slice(0, held.indexOf(deleted.id) + 1);
  // The last is the one that was left, and before it are those that its owner knows.
  const heldByKeyIds = [...below, ...holdersOf(deleted)].slice(-maxHolders);
  if (hash === undefined || heldByKeyIds.join() === held.join()) return undefined;
  return rowOf({ ...document, heldByKeyIds }, { hash, revision: row.revision });
}

/** What holds the keys that a key made, once it is deleted alone. */
export function holdersOf({ createdByKeyId, heldByKeyIds = [] }: TokenDocument): readonly string[] {
  return [...(createdByKeyId === undefined ? [] : [createdByKeyId]), ...heldByKeyIds];
}

/** The object that the API shows. Moments in epoch ms. */
export function presentToken(document: TokenDocument): Record<string, unknown> {
  const { id, account, name, access, createdAt, expiresAt, createdByKeyId, lastUsedAt } = document;
  // What is undefined is left out of JSON.
  return { id, name, userId: account, access, createdAt, expiresAt, createdByKeyId, lastUsedAt };
}

export function newKey(): string {
  return `mr_${randomBytes(32).toString('base64url')}`;
}

/** A key has 256 random bits, so a plain hash cannot be reversed. */
export function hashOf(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}

/** Each is an index entry. */
const maxHolders = 20;

/** Keys are found by those that hold them. */
export function holderIndex(keyId: string): string {
  return `held by ${keyId}`;
}

/** Keys are found by the origins that they allow. */
export function originIndex(origin: string): string {
  return `origin ${origin}`;
}
