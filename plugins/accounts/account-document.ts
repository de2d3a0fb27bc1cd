import type { FieldValues } from '../../core/plugin/resource.ts';
import type { ResourceCommit, StoredResource } from '../../core/ports/store.ts';

/** An account as it is stored. */
export interface AccountDocument {
  readonly id: string;
  readonly name: string;
  /** Epoch ms. */
  readonly createdAt: number;
  /** What other plugins add, where it was set. Absent in those of before. */
  readonly fields?: FieldValues;
}

export function documentOf(row: Pick<StoredResource, 'body'>): AccountDocument {
  return JSON.parse(row.body) as AccountDocument;
}

/** @param options `isAdmin`: it is the account of the operator, which is found by its role. */
export function rowOf(
  document: AccountDocument,
  { isAdmin, revision = 0 }: { isAdmin: boolean; revision?: number },
): ResourceCommit['rows'][number] {
  const { id, name, createdAt } = document;
  const body = JSON.stringify(document);
  const indexes: Record<string, string> = isAdmin ? { role: 'admin' } : {};
  return { kind: 'account', id, account: id, createdAt, name, body, indexes, revision };
}
