import { hasCode, unlessRefused } from '../../core/base/fault.ts';
import { sideBySide } from '../../core/base/side-by-side.ts';
import { maxPage } from '../../core/http/query.ts';
import type { ActorType } from '../../core/plugin/actor.ts';
import type { LostNode } from '../../core/plugin/nodes.ts';
import { effect } from '../../core/plugin/plugin.ts';
import { rowPages } from '../../core/plugin/row-pages.ts';
import type { LoggedEvent, ResourceWrite, StoredResource } from '../../core/ports/store.ts';
import { type Refill, type Refilled, webhookLaneMachine } from '../../machines/webhook-lane.ts';
import type { config, WebhooksKit } from './config.ts';
import { type LogEntry, logKind, logRow } from './log-entry.ts';
import { anyStream, eventIndex, wants, webhookKind, webhookOf } from './webhook.ts';

/** Events read from the log in one query. */
const refillPage = 100;
/** Queries of one refill: then the lane stores what was found, so a refill ends however much others have in the log. */
export const refillPages = 50;

/** One per webhook and stream, while there is work. */
export const lane: ActorType<typeof webhookLaneMachine> = {
  type: 'webhook-lane',
  machine: webhookLaneMachine,
  version: 1,
  get kinds() {
    return { [laneKind]: 'any', [logKind]: 'any' } as const;
  },
  rows({ lane: { key, actor, account, webhookId, createdAt }, entry, isNew }, state) {
    const rows: ResourceWrite[] = [];
    const row = { kind: laneKind, id: key, account, createdAt, name: '' };
    // The row says which actor the lane is; it is written once.
    if (state === 'ended') rows.push({ ...row, body: null, indexes: {} });
    else if (isNew) rows.push({ ...row, body: JSON.stringify({ actor }), indexes: { webhook: webhookId } });
    if (entry) rows.push(logRow(entry as LogEntry, { account }));
    return rows;
  },
  describe: () => {
    throw new Error('lanes emit nothing');
  },
};

export const laneKind = 'webhook-lane';

/** Id of the actor of a lane's row. */
export function laneActor({ body }: { readonly body: string }): string {
  return (JSON.parse(body) as { actor: string }).actor;
}

/** Reads the next events of a lane from the log: those that came while the lane was full. */
export const refillEffect = effect<Refill, Refilled, typeof config>({
  concurrency: 16,
  timeout: 30_000,
  async run({ input, signal }, kit) {
    const { account, webhookId, streamId, after, limit } = input;
    const row = await kit.resources.get(webhookKind, webhookId);
    if (!row) return { positions: [], last: after, hasMore: false };
    const webhook = webhookOf(row);
    const positions: number[] = [];
    let last = after;
    for (let pages = 0; pages < refillPages; pages += 1) {
      signal.throwIfAborted();
      const page = await kit.events.after(last, { account, limit: refillPage });
      for (const { type, stream, position } of page) {
        if (stream === streamId && wants(webhook, { type, streamId })) positions.push(position);
        last = position;
        if (positions.length === limit) return { positions, last, hasMore: true };
      }
      if (page.length < refillPage) return { positions, last, hasMore: false };
    }
    return { positions, last, hasMore: true };
  },
});

/**
 * Wakes the lanes that a lost process would have woken: only its memory said that they wait for it, and they would look
 * again by themselves after a minute or two.
 */
export async function lostNode(lost: LostNode, { resources, actors }: WebhooksKit): Promise<void> {
  // 100 at a time: their commits share a sync, and leave room for others.
  for await (const rows of rowPages(laneKind, { where: {}, page: 100, resources })) {
    const found = rows.map(async (row) => {
      const actor = laneActor(row);
      return { actor, view: await actors.read(lane, actor) };
    });
    const lanes = await Promise.all(found);
    const lastSign = await lost.lastSigns();
    const waiting = lanes.filter(({ view }) => {
      if (view?.value !== 'holding' || view.context.heldBy === null) return false;
      // Lanes of an older release do not say who wakes them: by now nobody does.
      return view.context.heldBy === undefined || lastSign(view.context.heldBy) !== undefined;
    });
    await sideBySide(waiting, async ({ actor }) => {
      await actors.ask(lane, actor, { type: 'resume' }).catch(unlessRefused);
    });
  }
}

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
