import type { ResourceReader, RowPlace, Store, StoredResource } from '../../core/ports/store.ts';
import { partitionOf } from '../../runtime/actors/actor-name.ts';

/**
 * Sees to it that readers who say where a row is are right: a store on one shard finds it wherever it is, one on several
 * would say that it is not there.
 */
export function rowHomes() {
  const homes = new Map<string, number | 'plain'>();
  let partitions = 1;
  const check = (
    row: Pick<StoredResource, 'id'> | undefined,
    asked: { kind: string; name: string; place?: RowPlace },
  ) => {
    const { kind, name, place = {} } = asked;
    const home = row && homes.get(`${kind} ${row.id}`);
    if (home === undefined) return;
    if (place.isPlain && home !== 'plain')
      throw new Error(`${kind} ${row?.id} is asked for as a plain row, but a step wrote it`);
    // Tests put rows of other accounts into the store as plain ones.
    if (place.isBeside && home !== 'plain' && home !== partitionOf(name, partitions))
      throw new Error(`${kind} ${row?.id} is asked for in the partition of "${name}", where it is not`);
  };
  return {
    /** Of a call to the store, before it is made. */
    called(name: string, args: readonly unknown[]): void {
      if (name === 'acquire') partitions = args[0] as number;
      if (name === 'commit') {
        const { rows, partition } = args[0] as Parameters<Store['commit']>[0];
        for (const { kind, id } of rows) homes.set(`${kind} ${id}`, partition);
      }
      if (name === 'write') {
        const { rows } = args[0] as Parameters<Store['write']>[0];
        for (const { kind, id, revision } of rows) if (revision === 0) homes.set(`${kind} ${id}`, 'plain');
      }
    },
    /** Of a read, with what it found. */
    found(name: string, { args, row }: { args: readonly unknown[]; row: StoredResource | undefined }): void {
      if (name === 'get' || name === 'read') {
        const [kind, id, place] = args as Parameters<ResourceReader['get']>;
        check(row && { id }, { kind, name: id, ...(place && { place }) });
      } else if (name === 'find') {
        const [kind, , value, place] = args as Parameters<ResourceReader['find']>;
        check(row, { kind, name: value, ...(place && { place }) });
      }
    },
  };
}
