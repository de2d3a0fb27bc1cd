import { type Static, Type } from '@sinclair/typebox';
import { type Cidr, cidr, matchLength } from '../../core/base/cidr.ts';
import { Fault } from '../../core/base/fault.ts';
import { distance, type Location } from './distance.ts';
import { ingestLimits } from './limits.ts';

const url = (schemes: readonly string[], example: string) =>
  Type.String({
    pattern: `^(${schemes.join('|')})://[^/?#\\s]+[^?#\\s]*$`,
    expected: `a URL such as ${example}`,
    schemes,
  });

export const regionSchema = Type.Object(
  {
    region: Type.String({
      pattern: '^[a-z]{3}$',
      expected: 'three lower-case letters, such as an airport code',
    }),
    ingest: url(['rtmp', 'rtmps'], 'rtmp://fra-rtmp.example.com/live'),
    playback: url(['http', 'https'], 'https://fra-cdn.example.com/hls'),
    base: url(['http', 'https'], 'https://fra-cdn.example.com'),
    location: Type.Optional(
      Type.Object(
        {
          latitude: Type.Number({ minimum: -90, maximum: 90 }),
          longitude: Type.Number({ minimum: -180, maximum: 180 }),
        },
        { additionalProperties: false },
      ),
    ),
    cidrs: Type.Optional(Type.Array(Type.String(), { maxItems: ingestLimits.cidrs.value })),
  },
  { additionalProperties: false },
);

export type RegionConfig = Static<typeof regionSchema>;

/** A place as it is shown; `base` where all are. */
export const placeSchema = Type.Object(
  {
    ingest: Type.String({ examples: ['rtmp://fra-rtmp.example.com/live'] }),
    playback: Type.String({ examples: ['https://fra-cdn.example.com/hls'] }),
    base: Type.Optional(
      Type.String({ description: 'With `first=false`.', examples: ['https://fra-cdn.example.com'] }),
    ),
    region: Type.Optional(
      Type.String({ description: 'With `first=false`: of a node that names one.', examples: ['fra'] }),
    ),
  },
  { $id: 'Ingest', additionalProperties: false },
);

/** One place of the deployment, as it is told to clients. */
export interface Region {
  readonly ingest: string;
  readonly playback: string;
  readonly base: string;
  readonly blocks: readonly Cidr[];
  readonly location?: Location;
}

/** The regions of the config. Throws a Fault `config.invalid`. */
export function regionsOf(configured: readonly RegionConfig[]): Region[] {
  const problems: string[] = [];
  const regions = configured.map(({ ingest, playback, base, location, cidrs = [] }, index) => {
    const blocks = cidrs.flatMap((text, place) => {
      const block = cidr(text);
      if (!block) {
        problems.push(
          `plugins.ingest.regions.${index}.cidrs.${place}: expected a block such as 192.0.2.0/24 or 2001:db8::/32`,
        );
      }
      return block ?? [];
    });
    return { ingest, playback, base, blocks, ...(location && { location }) };
  });
  if (problems.length > 0) throw new Fault('config.invalid', { status: 500, message: problems });
  return regions;
}

/**
 * Nearest first: by the most specific block that holds the address, else by distance where both places are known,
 * else as configured.
 */
export function nearestFirst(
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
