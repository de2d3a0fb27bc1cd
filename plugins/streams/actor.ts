import type { ActorType } from '../../core/plugin/actor.ts';
import type { StepKit } from '../../core/plugin/plugin.ts';
import { broadcastMachine } from '../../machines/broadcast.ts';
import type { config } from './config.ts';
import { stream } from './contract.ts';
import { rowsOf, streamDocument } from './document.ts';
import { presentForEvent } from './present.ts';
import { sessionFacts } from './session-facts.ts';

/** One per stream: its settings and its broadcast. Its id is the stream's id. */
export const broadcast: ActorType<typeof broadcastMachine, StepKit<typeof config>> = {
  type: 'broadcast',
  machine: broadcastMachine,
  version: 1,
  rows: rowsOf,
  describe({ type }, context, { at, tools }) {
    const fields = tools.fields(stream);
    const now = { at, fields, baseUrl: tools.publicUrl };
    const shown = { stream: presentForEvent(streamDocument(context), now) };
    const { id, account } = context.stream;
    if (!type.startsWith('session.')) return { account, stream: id, body: shown };
    // For plugins alone: an event of no account.
    return { account: '', stream: id, body: { ...shown, payload: sessionFacts(context, fields) } };
  },
};
