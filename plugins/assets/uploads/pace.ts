import { bytesOf } from '../../../core/base/config-fields.ts';
import type { Pace } from '../../../core/ports/intake.ts';
import type { AssetsKit } from '../kit.ts';
import { assetLimits } from '../limits.ts';

/** How fast the body of an upload must come: one that trickles would keep its place for days. */
export function leastPace({ config }: Pick<AssetsKit, 'config'>): Pace {
  return { rate: bytesOf(config.leastRate), window: assetLimits.uploadLook };
}
