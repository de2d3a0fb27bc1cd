import type { ActorType } from '../../core/actor.ts';
import { broadcastMachine } from '../../machines/broadcast.ts';
import { rowsOf, streamDocument } from './document.ts';
import type { StreamsKit } from './kit.ts';
import { presentForEvent } from './present.ts';

/** One per stream: its settings and its broadcast. Its id is the stream's id. */
export const broadcast: ActorType<typeof broadcastMachine, StreamsKit> = {
  type: 'broadcast',
  machine: broadcastMachine,
  version: 1,
  rows: rowsOf,
  describe(_emitted, context, kit) {
    return {
      account: context.stream.account,
      stream: context.stream.id,
      body: { stream: presentForEvent(streamDocument(context), { kit }) },
    };
  },
};
