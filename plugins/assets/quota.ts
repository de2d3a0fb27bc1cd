import { Fault } from '../../core/base/fault.ts';
import { type Quota, quota } from '../../core/http/quota.ts';
import { assetKind } from './document.ts';
import type { AssetsKit } from './kit.ts';

/** Bounds the assets of an account, for all requests that make one: those of one node count together. */
export function assetPlaces({ resources, clock, config }: AssetsKit): Quota {
  return quota({
    clock,
    most: config.maxPerAccount,
    count: (account) => resources.count(assetKind, { account }),
    full: () => tooMany(config.maxPerAccount),
  });
}

function tooMany(most: number): Fault {
  const message = `This account has ${most} assets (plugins.assets.maxPerAccount). Delete some.`;
  return new Fault('asset.too_many', { status: 409, message });
}
