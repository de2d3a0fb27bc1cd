import { services } from '../../core/plugin/services.ts';
import type { Json } from '../../core/ports/volatile.ts';
import type { StreamsKit } from './kit.ts';
import { streamLimits } from './limits.ts';

/**
 * Notes that a newcomer was refused because the key is in use (`busyKey: "refuse"`): the owner should hear of it,
 * whichever node is asked. Like live figures: an encoder that tries again and again must not cost a write to the store.
 */
export function noteRefusal(streamId: string, kit: StreamsKit): void {
  const entry = { key: refusalKey(streamId), value: true as Json };
  kit
    .use(services.volatile)
    .set([entry], { lasts: streamLimits.refusalShown.value })
    .catch((error: unknown) => kit.log.debug('a refused newcomer could not be noted', { error }));
}

/** The key of a stream's last refusal in the Volatile port: there for as long as it is shown. */
export function refusalKey(streamId: string): string {
  return `refused/${streamId}`;
}
