import type { ListQuery, ResourceReader, StoredResource } from '../ports/store.ts';

/**
 * All rows of a kind that a query finds, a page at a time. What is added meanwhile may be among them.
 *
 * @param options.page most rows at a time
 */
export async function* rowPages(
  kind: string,
  options: Omit<ListQuery, 'limit' | 'after'> & {
    readonly page: number;
    readonly resources: Pick<ResourceReader, 'list'>;
  },
): AsyncGenerator<readonly StoredResource[]> {
  const { page, resources, ...query } = options;
  for (let after: StoredResource | undefined; ; ) {
    const rows = await resources.list(kind, { ...query, limit: page, ...(after && { after }) });
    if (rows.length > 0) yield rows;
    after = rows.at(-1);
    if (rows.length < page) return;
  }
}
