import type { StoredResource } from '../ports/store.ts';
import type { Kit } from './plugin.ts';
import { rowPages } from './row-pages.ts';

const page = 100;

/**
 * Seals the rows of a kind that an older version wrote in plain text. Once for each deployment: then the store says that it was
 * done. A singleton task; it returns at once, and works in the background.
 *
 * @param options.seal writes the row again with its secrets sealed, if they are not
 */
export function sealRows(
  kind: string,
  { kit, seal }: { kit: Kit; seal: (row: StoredResource) => Promise<unknown> },
): () => Promise<void> {
  const { resources, clock, signal, log } = kit;
  const ending = new AbortController();
  const place = { kind: 'sealed', id: kind, account: '', createdAt: clock.now(), name: '', revision: 0 };
  const work = async () => {
    if (await resources.get(place.kind, place.id)) return;
    for await (const rows of rowPages(kind, { where: {}, page, resources })) {
      for (const row of rows) {
        if (signal.aborted || ending.signal.aborted) return;
        await seal(row);
      }
    }
    await resources.write({ rows: [{ ...place, body: '{}', indexes: {} }], events: [] });
  };
  // Secrets that are left are sealed at the next start, or when they are written again.
  const done = work().catch((error: unknown) =>
    log.warn('stored secrets could not be sealed', { kind, error }),
  );
  return async () => {
    ending.abort();
    await done;
  };
}
