import { type AccountLimits, accountLimitsOf } from '../../core/http/account-limits.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import type { LiveObserver } from '../streams/contract.ts';

/** Longest time between two looks that is counted, ms: a node that was held up encoded no more than it could. */
const longest = 5000;

/** Counts what live renditions take of the encoding seconds of their accounts: each rendition by itself, while it is made. */
export function encodingMeter(kit: Pick<Kit, 'use' | 'offered'>): LiveObserver {
  const transcoder = kit.use(services.transcoder);
  let limits: AccountLimits | undefined | 'unknown' = 'unknown';
  let at = 0;
  let passed = 0;
  /** By playback id, how many renditions are being made. */
  let made = new Map<string, number>();
  const round = (now: number) => {
    if (now === at) return;
    passed = at === 0 ? 0 : Math.min(longest, now - at);
    at = now;
    const running = transcoder.readings().filter(({ state }) => state === 'running' || state === 'behind');
    made = new Map(running.map(({ playbackId, renditions }) => [playbackId, renditions.length]));
  };
  return {
    look({ grant, isPublishing }, now) {
      if (grant.profiles === undefined || grant.account === undefined || !isPublishing) return [];
      round(now);
      if (limits === 'unknown') limits = accountLimitsOf(kit);
      limits?.encoded(grant.account, ((made.get(grant.playbackId) ?? 0) * passed) / 1000);
      return [];
    },
    seen() {},
  };
}
