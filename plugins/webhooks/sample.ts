import { exampleId } from '../../core/base/ids.ts';
import type { WebhooksKit } from './config.ts';
import { deliveryBody } from './formats.ts';
import type { Webhook } from './webhook.ts';

/** What `deliveryBody` makes of an example of an event, as its plugin declares it. That of a plugin that is off has no payload. */
export function sampleBody(
  webhook: Webhook,
  { id, event, kit }: { id: string; event: string; kit: WebhooksKit },
): ReturnType<typeof deliveryBody> {
  const at = kit.clock.now();
  const declared = kit.events.declared.find(({ type }) => type === event);
  const stream = declared?.stream && {
    ...{ id: webhook.streamId ?? exampleId, kind: 'stream', name: 'Example', userId: webhook.account },
    ...{ createdAt: Math.floor(at / 1000), playbackId: '0'.repeat(16), ...declared.stream },
  };
  const body = JSON.stringify({
    ...{ id, createdAt: at, timestamp: at, event },
    ...(stream && { stream }),
    ...(declared?.payload && { payload: declared.payload }),
  });
  return deliveryBody({ body }, { webhook, kit });
}
