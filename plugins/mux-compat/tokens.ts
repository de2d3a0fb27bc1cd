import type { TokenDialect, TranslatedClaims } from '../../sdk/plugin.ts';
import type { MuxKit } from './config.ts';
import { storedPlaybackId } from './playback-ids.ts';
import { restrictionClaims } from './restrictions.ts';

/** What Mux calls the things that a token opens: videos, thumbnails, animations, storyboards. */
const audiences: Readonly<Record<string, string>> = { v: 'playback', t: 'image', g: 'image', s: 'image' };

/** Reads tokens that clients of Mux have signed. */
export function muxTokens(kit: Pick<MuxKit, 'resources'>): TokenDialect {
  return {
    async translate(claims, { account }): Promise<TranslatedClaims | string | undefined> {
      const { aud, sub, exp, playback_restriction_id: restriction } = claims;
      if (typeof aud !== 'string' || !Object.hasOwn(audiences, aud)) return undefined;
      if (typeof sub !== 'string') return 'sub: expected the playback id that the token is for.';
      const stored = await storedPlaybackId(sub, kit);
      const restricted =
        restriction === undefined ? {} : await restrictionClaims(restriction, { account, kit });
      if (typeof restricted === 'string') return restricted;
      const subject = stored?.account === account ? stored.playbackId : sub;
      return { claims: { sub: subject, exp, aud: audiences[aud], ...timesOf(claims), ...restricted } };
    },
  };
}

function timesOf({ nbf, iat }: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return { ...(nbf !== undefined && { nbf }), ...(iat !== undefined && { iat }) };
}
