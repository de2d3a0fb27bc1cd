import { hasCode } from '../../core/base/fault.ts';
import { sideBySide } from '../../core/base/side-by-side.ts';
import { maxPage } from '../../core/http/query.ts';
import type { LoggedEvent, StoredResource } from '../../core/ports/store.ts';
import type { WebhooksKit } from './config.ts';
import { lane, laneActor, laneKind } from './lane.ts';
import { anyStream, eventIndex, webhookKind } from './webhook.ts';

/** Webhooks that get an event side by side: commits for events of many streams must leave room for others. */
export const sideBySideMost = 20;

/**
 * Puts an event into the lane of each webhook that wants it. The cause names webhook and event: an event that is
 * reported twice changes nothing, whichever actor the lane is by then.
 */
export async function fanOut(event: LoggedEvent, kit: WebhooksKit): Promise<void> {
  // Events without an account are for plugins alone.
  if (event.account === '') return;
  const webhooks = await subscribers(event, kit);
  for (let at = 0; at < webhooks.length; at += sideBySideMost)
    await sideBySide(webhooks.slice(at, at + sideBySideMost), ({ id }) =>
      enqueue(event, { webhookId: id, kit }),
    );
}

async function subscribers(event: LoggedEvent, { resources }: WebhooksKit): Promise<StoredResource[]> {
  const { account, stream, type } = event;
  const values = stream === '' ? [anyStream] : [anyStream, stream];
  // As many webhooks as an account can have: `maxPerAccount` in the config.
  const limit = maxPage;
  const found = values.map((value) =>
    resources.list(webhookKind, { account, where: { [eventIndex(type)]: value }, limit }),
  );
  return (await Promise.all(found)).flat();
}

async function enqueue(
  { id, position, at, account, stream: streamId }: LoggedEvent,
  { webhookId, kit }: { webhookId: string; kit: WebhooksKit },
): Promise<void> {
  const cause = `webhook/${webhookId}/${id}`;
  const key = `${webhookId}:${streamId || '-'}`;
  const row = await kit.resources.get(laneKind, key);
  if (row) {
    try {
      await kit.actors.ask(lane, laneActor(row), { type: 'enqueue', position }, { cause });
      return;
    } catch (error) {
      // It had no work left and has ended since its row was read.
      if (!hasCode(error, 'actor.not_found')) throw error;
    }
  }
  // A new id: that of an actor that has ended is not used again.
  const actor = `${key}:${position}`;
  const settings = { key, actor, account, webhookId, streamId, createdAt: at, position };
  await kit.actors.spawn(lane, actor, settings, { cause }).catch((error: unknown) => {
    if (!hasCode(error, 'actor.exists')) throw error;
  });
}
