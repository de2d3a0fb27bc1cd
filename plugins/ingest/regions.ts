import { type Static, Type } from '@sinclair/typebox';
import { type Cidr, cidr, matchLength } from '../../core/base/cidr.ts';
import { object, optional } from '../../core/base/schema.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { type IngestAddresses, nodeAddresses } from './contract.ts';
import { type Location, locator } from './locator.ts';

const url = (schemes: readonly string[], example: string) =>
  Type.String({
    pattern: `^(${schemes.join('|')})://[^/?#\\s]+[^?#\\s]*$`,
    expected: `a URL such as ${example}`,
    schemes,
  });

export const regionSchema = object({
  region: Type.String({
    pattern: '^[a-z]{3}$',
    expected: 'three lower-case letters, such as an airport code',
  }),
  ingest: url(['rtmp', 'rtmps'], 'rtmp://fra-rtmp.example.com/live'),
  playback: url(['http', 'https'], 'https://fra-cdn.example.com/hls'),
  base: url(['http', 'https'], 'https://fra-cdn.example.com'),
  location: Type.Optional(
    object({
      latitude: Type.Number({ minimum: -90, maximum: 90 }),
      longitude: Type.Number({ minimum: -180, maximum: 180 }),
    }),
  ),
  cidrs: Type.Optional(Type.Array(Type.String(), { maxItems: 10_000 })),
});

export type RegionConfig = Static<typeof regionSchema>;

/** A place as the API shows it; `base` only when all are shown. */
export const placeSchema = object(
  {
    ingest: Type.String({ examples: ['rtmp://fra-rtmp.example.com/live'] }),
    playback: Type.String({ examples: ['https://fra-cdn.example.com/hls'] }),
    base: optional.string({ description: 'With `first=false`.', examples: ['https://fra-cdn.example.com'] }),
    region: optional.string({
      description: 'With `first=false`: of a node that has one.',
      examples: ['fra'],
    }),
  },
  { $id: 'Ingest' },
);

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

type Region = Omit<RegionConfig, 'cidrs'> & { readonly blocks: readonly Cidr[] };

/** What is wrong with the address blocks of regions, each beginning with the key. */
export function regionProblems(regions: readonly RegionConfig[]): string[] {
  return regions.flatMap(({ cidrs = [] }, index) =>
    cidrs.flatMap((text, place) =>
      cidr(text)
        ? []
        : [`regions.${index}.cidrs.${place}: expected a block such as 192.0.2.0/24 or 2001:db8::/32`],
    ),
  );
}

function regionsOf(configured: readonly RegionConfig[]): Region[] {
  return configured.map(({ cidrs = [], ...region }) => ({
    ...region,
    blocks: cidrs.flatMap((text) => cidr(text) ?? []),
  }));
}

/**
 * Nearest first: by the most specific block that contains the address, else by distance if both locations are known, else in
 * the order of the config.
 */
function nearestFirst(
  regions: readonly Region[],
  caller: { address: string | undefined; location: Location | undefined },
): Region[] {
  const { address, location } = caller;
  return regions
    .map((region) => ({
      region,
      length: address === undefined ? -1 : matchLength(address, region.blocks),
      far: location && region.location ? distance(location, region.location) : Number.MAX_VALUE,
    }))
    .sort((a, b) => b.length - a.length || a.far - b.far)
    .map(({ region }) => region);
}

/** Along the surface, in radii of the earth: to be compared only. Haversine, which is precise for small distances. */
export function distance(from: Location, to: Location): number {
  const [latitude, other] = [radians(from.latitude), radians(to.latitude)];
  const north = Math.sin((other - latitude) / 2) ** 2;
  const east = Math.sin(radians(to.longitude - from.longitude) / 2) ** 2;
  return 2 * Math.asin(Math.min(1, Math.sqrt(north + Math.cos(latitude) * Math.cos(other) * east)));
}

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180;
}
