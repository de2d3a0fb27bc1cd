import type { Fault } from '../base/fault.ts';
import type { ResourceCommit } from '../ports/store.ts';
import type { Kit } from './plugin.ts';

/** A resource that only holds what a client wrote. Its body is the document as JSON. */
export interface PlainResource<T> {
  readonly kind: string;
  /** How often a change is tried while others change the same one. */
  readonly attempts: number;
  /** `revision`: the one that was read, 0 for a new one. `isGone`: deletes it. */
  row(document: T, options: { revision: number; isGone?: boolean }): ResourceCommit['rows'][number];
  notFound(id: string): Fault;
  busy(id: string): Fault;
}

/** Those of one account, changed by compare-and-set. Another account's are as unknown as those that never were. */
export function plainResources<T>(
  { kind, attempts, row, notFound, busy }: PlainResource<T>,
  { account, resources }: { account: string; resources: Kit['resources'] },
) {
  const find = async (id: string) => {
    const stored = await resources.get(kind, id, { isPlain: true });
    if (stored?.account !== account) return undefined;
    return { document: JSON.parse(stored.body) as T, revision: stored.revision };
  };
  /** Writes what `next` makes of the stored one, again while others change it. */
  const rewrite = async (
    id: string,
    next: (before: T) => Promise<{ document: T; isGone?: boolean }>,
  ): Promise<T> => {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const found = await find(id);
      if (!found) throw notFound(id);
      const { document, isGone = false } = await next(found.document);
      const rows = [row(document, { revision: found.revision, isGone })];
      if ((await resources.write({ rows, events: [] })) === 'ok') return document;
    }
    throw busy(id);
  };
  return {
    async has(id: string): Promise<boolean> {
      return (await find(id)) !== undefined;
    },
    /** Throws `notFound`. */
    async get(id: string): Promise<T> {
      return (await find(id))?.document ?? Promise.reject(notFound(id));
    },
    /** What `change` makes of it is written. Throws `notFound` and `busy`. */
    async change(id: string, change: (before: T) => T | Promise<T>): Promise<T> {
      return rewrite(id, async (before) => ({ document: await change(before) }));
    },
    /** Throws `notFound` and `busy`. */
    async remove(id: string): Promise<void> {
      await rewrite(id, async (document) => ({ document, isGone: true }));
    },
  };
}
