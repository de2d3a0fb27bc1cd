import type { ResourceReader, StoredResource } from '../ports/store.ts';

/**
 * All rows of a kind with these values, a page at a time, the oldest first. What is added meanwhile may be among them.
 *
 * @param options.page most rows at a time
 */
export async function* rowPages(
  kind: string,
  options: {
    readonly where: Readonly<Record<string, string>>;
    readonly page: number;
    readonly resources: Pick<ResourceReader, 'list'>;
  },
): AsyncGenerator<readonly StoredResource[]> {
  const { where, page, resources } = options;
  for (let after: StoredResource | undefined; ; ) {
    const rows = await resources.list(kind, { where, limit: page, ...(after && { after }) });
    if (rows.length > 0) yield rows;
    after = rows.at(-1);
    if (rows.length < page) return;
  }
}
