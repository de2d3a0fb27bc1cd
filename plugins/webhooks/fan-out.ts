import { hasCode } from '../../core/base/fault.ts';
import { maxPage } from '../../core/http/query.ts';
import type { LoggedEvent, StoredResource } from '../../core/ports/store.ts';
import type { WebhooksKit } from './kit.ts';
import { lane, laneKey, laneKind } from './lane.ts';
import { webhookLimits } from './limits.ts';
import { anyStream, eventIndex, webhookKind } from './webhook.ts';

/** As many webhooks as an account can have, see config.ts. */
const mostWebhooks = maxPage;

/**
 * Puts an event into the lane of each webhook that wants it. The cause names webhook and event, so an event that is heard
 * of twice changes nothing, whichever actor the lane is by then.
 */
export async function fanOut(event: LoggedEvent, kit: WebhooksKit): Promise<void> {
  // For plugins alone.
  if (event.account === '') return;
  const webhooks = await subscribers(event, kit);
  // In stretches: events of many streams come side by side, and all their commits at once would leave no room for others'.
  const { fanOut: most } = webhookLimits;
  for (let at = 0; at < webhooks.length; at += most) {
    const some = webhooks.slice(at, at + most);
    await Promise.all(some.map(({ id }) => enqueue(event, { webhookId: id, kit })));
  }
}

async function subscribers(event: LoggedEvent, { resources }: WebhooksKit): Promise<StoredResource[]> {
  const { account, stream, type } = event;
  const values = stream === '' ? [anyStream] : [anyStream, stream];
  const found = await Promise.all(
    values.map((value) =>
      resources.list(webhookKind, { account, where: { [eventIndex(type)]: value }, limit: mostWebhooks }),
    ),
  );
  return found.flat();
}

async function enqueue(
  logged: LoggedEvent,
  { webhookId, kit }: { webhookId: string; kit: WebhooksKit },
): Promise<void> {
  const { id, position, at, account, stream: streamId } = logged;
  const cause = `webhook/${webhookId}/${id}`;
  const key = laneKey({ webhookId, streamId });
  const row = await kit.resources.get(laneKind, key);
  if (row) {
    const { actor } = JSON.parse(row.body) as { actor: string };
    try {
      await kit.actors.ask(lane, actor, { type: 'enqueue', position }, { cause });
      return;
    } catch (error) {
      // It has ended since its row was read: it had nothing left to do.
      if (!hasCode(error, 'actor.not_found')) throw error;
    }
  }
  // An id of its own: that of an actor which has ended is not used again.
  const actor = `${key}:${position}`;
  const settings = { key, actor, account, webhookId, streamId, createdAt: at, position };
  await kit.actors.spawn(lane, actor, settings, { cause }).catch((error: unknown) => {
    if (!hasCode(error, 'actor.exists')) throw error;
  });
}
