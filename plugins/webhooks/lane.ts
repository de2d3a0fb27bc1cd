import type { ActorType } from '../../core/plugin/actor.ts';
import type { ResourceWrite } from '../../core/ports/store.ts';
import { webhookLaneMachine } from '../../machines/webhook-lane.ts';
import { type LogEntry, logRow } from './log-entry.ts';

/** One per webhook and stream, while there is work. */
export const lane: ActorType<typeof webhookLaneMachine> = {
  type: 'webhook-lane',
  machine: webhookLaneMachine,
  version: 1,
  rows({ lane: { key, actor, account, webhookId, createdAt }, entry, isNew }, state) {
    const rows: ResourceWrite[] = [];
    const row = { kind: laneKind, id: key, account, createdAt, name: '' };
    // The row says which actor the lane is; nothing else of it changes.
    if (state === 'ended') rows.push({ ...row, body: null, indexes: {} });
    else if (isNew) rows.push({ ...row, body: JSON.stringify({ actor }), indexes: { webhook: webhookId } });
    if (entry) rows.push(logRow(entry as unknown as LogEntry, { account }));
    return rows;
  },
  describe: () => {
    throw new Error('lanes emit nothing');
  },
};

export const laneKind = 'webhook-lane';

/** Names the lane of a webhook for the events of a stream, or for those of none. */
export function laneKey({ webhookId, streamId }: { webhookId: string; streamId: string }): string {
  return `${webhookId}:${streamId || '-'}`;
}
