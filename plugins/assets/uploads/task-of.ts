import { derivedId } from '../../../core/base/ids.ts';

/** The task of an upload has its id from that of its asset, so that each is found from the other. */
export function taskIdOf(assetId: string): string {
  return derivedId(`upload of asset ${assetId}`);
}
