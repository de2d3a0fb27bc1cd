import type { Caller } from '../../core/caller.ts';
import type { Kit } from '../../core/plugin.ts';
import { locator } from './locator.ts';
import { nearestFirst, type Region, type RegionConfig, regionsOf } from './regions.ts';

/** Where a client broadcasts to and watches from, nearest first: at least one place. */
export function placesFor(kit: PlacesKit): (caller: Caller) => Region[] {
  const { locate } = kit.use(locator);
  const { rtmpPort, publicUrl } = kit.deployment;
  const { regions: configured } = kit.config;
  const known = regionsOf(configured, { publicUrl, rtmpPort });
  return ({ address, baseUrl }) => {
    // Without regions the one place is this server, under the address by which it is called.
    const regions = configured.length > 0 ? known : regionsOf([], { publicUrl: baseUrl, rtmpPort });
    return nearestFirst(regions, { address, location: locate(address) });
  };
}

export type PlacesKit = Pick<Kit, 'deployment' | 'use'> & {
  readonly config: { readonly regions: readonly RegionConfig[] };
};
