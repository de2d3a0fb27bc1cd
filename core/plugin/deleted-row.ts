import type { ResourceCommit, StoredResource } from '../ports/store.ts';

/** The write that deletes a row as it was read, with its indexes. It fails where the row was written since. */
export function deletedRow(
  kind: string,
  { id, account, createdAt, name, revision }: Omit<StoredResource, 'body'>,
): ResourceCommit['rows'][number] & { readonly body: null } {
  return { kind, id, account, createdAt, name, revision, body: null, indexes: {} };
}
