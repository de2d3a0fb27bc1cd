import type { Kit } from '../../core/plugin/plugin.ts';
import { type IngestAddresses, nodeAddresses } from './contract.ts';
import { locator } from './locator.ts';
import { nearestFirst, type RegionConfig, regionsOf } from './regions.ts';

/** Where a client broadcasts to and watches from, nearest first: the regions of the config, or without any the living nodes. */
export function placesFor(kit: PlacesKit): IngestAddresses {
  const { locate } = kit.use(locator);
  const regions = regionsOf(kit.config.regions);
  if (regions.length === 0) return nodeAddresses(kit);
  return async ({ address }) =>
    nearestFirst(regions, { address, location: locate(address) }).map(({ ingest, playback, base }) => ({
      ...{ ingest, playback, base },
    }));
}

export type PlacesKit = Pick<Kit, 'deployment' | 'use'> & {
  readonly config: { readonly regions: readonly RegionConfig[] };
};
