import { Fault } from '../../core/base/fault.ts';
import { findByName } from '../../core/vod/aliases.ts';
import { playableFinder, playables, playbackAliases } from '../playback/contract.ts';
import type { FrameRule } from '../watch/contract.ts';
import type { ProtectionKit } from './config.ts';
import { protectionOf } from './play.ts';

/** Pages of other origins than those of the policy may not show the player, which plays by its own origin. */
export function frameRule(kit: ProtectionKit): FrameRule {
  const find = playableFinder(kit.offered(playables));
  const byName = findByName({ aliases: kit.offered(playbackAliases), clock: kit.clock });
  return async (id, request) => {
    const asked = byName(id, (one) => find(one, kit.caller(request)));
    const found = await asked.catch((error: unknown) => {
      // What is not ready yet cannot be played in any frame.
      if (error instanceof Fault && error.status === 404) return undefined;
      throw error;
    });
    if (!found?.subject) return undefined;
    return (await protectionOf(kit).watched.of(found.subject)).policy?.allowedOrigins;
  };
}
