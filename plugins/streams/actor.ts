import type { ActorType } from '../../core/actor.ts';
import type { StepKit } from '../../core/plugin.ts';
import { broadcastMachine } from '../../machines/broadcast.ts';
import type { config } from './config.ts';
import { stream } from './contract.ts';
import { rowsOf, streamDocument } from './document.ts';
import { presentForEvent } from './present.ts';

/** One per stream: its settings and its broadcast. Its id is the stream's id. */
export const broadcast: ActorType<typeof broadcastMachine, StepKit<typeof config>> = {
  type: 'broadcast',
  machine: broadcastMachine,
  version: 1,
  rows: rowsOf,
  describe(_emitted, context, { at, tools }) {
    return {
      account: context.stream.account,
      stream: context.stream.id,
      body: { stream: presentForEvent(streamDocument(context), { at, fields: tools.fields(stream) }) },
    };
  },
};
