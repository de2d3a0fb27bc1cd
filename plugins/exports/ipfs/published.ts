import type { FilePiece } from '../../../core/http/file-answer.ts';
import type { Blobs } from '../../../core/ports/blobs.ts';
import type { PackedFile } from '../../../core/ports/packer.ts';
import { type Assets, exportsFolder } from '../../assets/contract.ts';

/** What is served under a CID: a CAR of an asset, and the file that is packed in it. */
export interface Published extends PackedFile {
  readonly assetId: string;
  /** Media type of the file. */
  readonly type: string;
  /** Where the bytes of the file lie; absent: nowhere in one piece. */
  readonly file?: FilePiece;
}

/** How many assets that have exported the same are looked at to find one that still exists. */
const mostAssets = 20;

/** Has `find` know it. Repeating it is harmless. */
export async function publish(one: Published, blobs: Pick<Blobs, 'put'>): Promise<void> {
  await blobs.put(`${folderOf(nameOf(one))}${one.assetId}.json`, Buffer.from(JSON.stringify(one)));
}

/**
 * What was exported under a CID (version 1, base32) and still exists. Each asset that exported it has a note in a folder of the CID:
 * of assets that were deleted it is removed when somebody asks for them.
 */
export async function findPublished(
  name: string,
  {
    blobs,
    assets,
  }: { readonly blobs: Pick<Blobs, 'list' | 'get' | 'delete'>; readonly assets: Pick<Assets, 'find'> },
): Promise<Published | undefined> {
  const { blobs: notes } = await blobs.list(folderOf(name), { limit: mostAssets });
  for (const { key } of notes) {
    const assetId = key.slice(folderOf(name).length, -'.json'.length);
    if (!(await assets.find(assetId))) {
      await blobs.delete([key]);
      continue;
    }
    const found = await blobs.get(key);
    if (found.outcome === 'ok') return (await new Response(found.body).json()) as Published;
  }
  return undefined;
}

function folderOf(name: string): string {
  return `ipfs/${name}/`;
}

/** The CID as CIDv1 in base32. */
function nameOf({ key, assetId }: Published): string {
  return key.slice(exportsFolder(assetId).length, -'.car'.length);
}
