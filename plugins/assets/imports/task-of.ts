import { derivedId } from '../../../core/base/ids.ts';

/** The task of an import has its id from that of its asset, so that each is found from the other. */
export function importTaskOf(assetId: string): string {
  return derivedId(`import of asset ${assetId}`);
}
