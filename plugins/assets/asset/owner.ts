import { uuid } from '../../../core/base/ids.ts';
import type { AssetsKit } from '../config.ts';
import { assetFolder } from './document.ts';

/** Bytes of the blob that names the owner; a longer blob is not ours. */
const mostMarkBytes = 200;

/**
 * Whether the blobs below `assets/` belong to this store. The first call writes the name of the store there. A deployment that
 * points to the bucket of another one, or that has lost its store, then gets false: blobs without an asset may be the only copy of
 * somebody's films.
 */
export async function ownsBlobs(kit: AssetsKit): Promise<boolean> {
  const own = await madeOnce(owner, () => ({ name: uuid() }), kit);
  for (;;) {
    const found = await kit.blobs.get(markKey, { range: { from: 0, to: mostMarkBytes } });
    if (found.outcome === 'ok') return (await new Response(found.body).text()) === markOf(own.name);
    if (found.outcome !== 'absent') return false;
    const put = await kit.blobs.put(markKey, Buffer.from(markOf(own.name)), { ifAbsent: true });
    if (put.outcome === 'ok') return true;
  }
}

/** A value that all nodes share. The first node that needs it creates it. */
export async function madeOnce<T>(
  { kind, id }: { readonly kind: string; readonly id: string },
  make: () => T,
  { resources, clock }: Pick<AssetsKit, 'resources' | 'clock'>,
): Promise<T> {
  for (;;) {
    const row = await resources.get(kind, id);
    if (row) return JSON.parse(row.body) as T;
    const body = JSON.stringify(make());
    const first = { kind, id, account: '', createdAt: clock.now(), name: '', body, indexes: {}, revision: 0 };
    // If another node was first, its value is read in the next round.
    await resources.write({ rows: [first], events: [] });
  }
}

const owner = { kind: 'asset-owner', id: 'blobs' };
const markKey = `${assetFolder}owner.json`;

function markOf(name: string): string {
  return JSON.stringify({ deployment: name });
}
