import { unlessRefused } from '../../core/base/fault.ts';
import { sideBySide } from '../../core/base/side-by-side.ts';
import type { ActorType } from '../../core/plugin/actor.ts';
import type { LostNode } from '../../core/plugin/nodes.ts';
import type { StepKit } from '../../core/plugin/plugin.ts';
import type { FieldSet } from '../../core/plugin/resource.ts';
import { rowPages } from '../../core/plugin/row-pages.ts';
import { broadcastMachine } from '../../machines/broadcast.ts';
import type { BroadcastContext } from '../../machines/broadcast-context.ts';
import type { config, StreamsKit } from './config.ts';
import { type SessionFacts, stream } from './contract.ts';
import { documentOf, rowsOf, streamDocument } from './document.ts';
import { presentForEvent } from './present.ts';

/** One per stream: its settings and its broadcast. Its id is the stream's id. */
export const broadcast: ActorType<typeof broadcastMachine, StepKit<typeof config>> = {
  type: 'broadcast',
  machine: broadcastMachine,
  version: 1,
  // Sessions have ids of their own.
  kinds: { stream: 'any' },
  rows: rowsOf,
  describe({ type }, context, { at, tools }) {
    const fields = tools.fields(stream);
    const now = { at, fields, baseUrl: tools.publicUrl };
    const shown = { stream: presentForEvent(streamDocument(context), now) };
    const { id, account } = context.stream;
    if (!type.startsWith('session.')) return { account, stream: id, body: shown };
    // An event of no account is for plugins alone.
    return { account: '', stream: id, body: { ...shown, payload: sessionFacts(context, fields) } };
  },
};

/** The current session for other plugins. Pure. */
export function sessionFacts({ stream, session }: BroadcastContext, fields: FieldSet): SessionFacts {
  if (!session) throw new Error('the broadcast has no session');
  const { account, createdByTokenName } = stream;
  const { id, createdAt, name, lastMediaAt, reconnectWindow } = session;
  const endsAt = lastMediaAt + reconnectWindow;
  return {
    ...{ id, streamId: stream.id, account, createdAt, endsAt, name, createdByTokenName },
    fields: fields.present(session.fields),
  };
}

/** Tells every broadcast that a lost process fed. Its last sign of life is its last heartbeat. */
export async function lostNode(lost: LostNode, { resources, actors }: StreamsKit): Promise<void> {
  for await (const rows of rowPages('stream', { where: { node: lost.id }, page: 1000, resources })) {
    const lastSign = await lost.lastSigns();
    await sideBySide(rows, async (row) => {
      const { incarnation } = documentOf(row);
      const aliveAt = incarnation === null ? undefined : lastSign(incarnation);
      if (incarnation === null || aliveAt === undefined) return;
      // Refused: the broadcast no longer depends on that process.
      await actors.ask(broadcast, row.id, { type: 'node.lost', incarnation, aliveAt }).catch(unlessRefused);
    });
  }
}
