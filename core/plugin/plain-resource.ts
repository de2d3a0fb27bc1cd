import type { Fault } from '../base/fault.ts';
import type { ResourceCommit } from '../ports/store.ts';
import type { Kit } from './plugin.ts';

/** A resource that only holds what a client wrote. Its body is the document as JSON. */
export interface PlainResource<T extends PlainDocument> {
  readonly kind: string;
  /** What it is found by. */
  indexes?(document: T): Readonly<Record<string, string>>;
  notFound(id: string): Fault;
  /** For a change, while others change the same one. */
  busy(id: string): Fault;
}

interface PlainDocument {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  /** Epoch ms. */
  readonly createdAt: number;
}

/** How often a change is tried. Each time another request changed it first; more in a row is a client that fights with itself. */
const attempts = 5;

/** Those of one account, changed by compare-and-set. Another account's are as unknown as those that never were. */
export function plainResources<T extends PlainDocument>(
  { kind, indexes, notFound, busy }: PlainResource<T>,
  { account, resources }: { account: string; resources: Kit['resources'] },
) {
  const rowOf = (document: T, revision: number): ResourceCommit['rows'][number] => {
    const { id, account, createdAt, name } = document;
    const body = JSON.stringify(document);
    return { kind, id, account, createdAt, name, revision, body, indexes: indexes?.(document) ?? {} };
  };
  const read = async (id: string) => {
    const stored = await resources.get(kind, id);
    if (stored?.account !== account) return undefined;
    return { document: JSON.parse(stored.body) as T, revision: stored.revision };
  };
  /** Writes the row that `next` makes of the stored one, again while others change it. */
  const rewrite = async (
    id: string,
    next: (stored: { document: T; revision: number }) => Promise<ResourceCommit['rows'][number]>,
  ): Promise<void> => {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const stored = await read(id);
      if (!stored) throw notFound(id);
      if ((await resources.write({ rows: [await next(stored)], events: [] })) === 'ok') return;
    }
    throw busy(id);
  };
  return {
    /** Undefined when the account has none of this id. */
    find: async (id: string): Promise<T | undefined> => (await read(id))?.document,
    /** Throws `notFound`. */
    async get(id: string): Promise<T> {
      return (await read(id))?.document ?? Promise.reject(notFound(id));
    },
    /** All of them or none. `conflict`: an earlier attempt of the same request has created them. */
    create: (documents: readonly T[]): Promise<'ok' | 'conflict'> =>
      resources.write({ rows: documents.map((document) => rowOf(document, 0)), events: [] }),
    /** What `change` makes of it is written. Throws `notFound` and `busy`. */
    async change(id: string, change: (before: T) => T | Promise<T>): Promise<T> {
      let changed: T | undefined;
      await rewrite(id, async ({ document, revision }) => {
        changed = await change(document);
        return rowOf(changed, revision);
      });
      return changed as T;
    },
    /** Throws `notFound` and `busy`. */
    remove: (id: string): Promise<void> =>
      rewrite(id, async ({ document, revision }) => ({
        ...{ ...rowOf(document, revision), body: null, indexes: {} },
      })),
  };
}
