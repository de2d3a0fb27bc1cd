import type { Log } from '../../../core/base/log.ts';
import type { Figures, PublishGrant, PublishRequest } from '../../../core/ports/media.ts';

/** What a publish says about itself, as far as it is known by now. */
export interface PublishDetails {
  /** By its own word; undefined when it gives none. */
  readonly encoder: string | undefined;
  /** RFC 6381 names of the tracks that are passed on. */
  readonly codecs: readonly string[];
}

/**
 * One line when a publish can be watched and one when it is over. The log never gets the request itself: it
 * holds the stream key.
 */
export function publishLog(
  { connection, address }: PublishRequest,
  { grant, log, details }: { grant: PublishGrant; log: Log; details: () => PublishDetails },
): PublishLog {
  const { streamId, sessionId } = grant;
  let hasBegun = false;
  const fields = () => ({ streamId, sessionId, connection, address, ...details() });
  return {
    began() {
      hasBegun = true;
      log.info('broadcast started', fields());
    },
    ended(reason, { duration, bytes }) {
      const message = hasBegun ? 'broadcast ended' : 'broadcast ended before anything could be played';
      log.info(message, { ...fields(), seconds: Math.round(duration * 10) / 10, bytes, reason });
    },
  };
}

interface PublishLog {
  began(): void;
  ended(reason: string, figures: Figures): void;
}
