import type { StartThread } from '../../runtime/drivers/store/sqlite/channel.ts';
import type { AnswerBatch, RequestBatch } from '../../runtime/drivers/store/sqlite/protocol.ts';
import { type Port, serve } from '../../runtime/drivers/store/sqlite/serve.ts';

/**
 * What the store has in a thread of its own, in the thread of the test: the same database and the same messages, copied
 * and a turn later. A worker for each world would be a third of what worlds cost; the store's own tests have one.
 */
export const threadHere: StartThread = ({ hear }) => {
  let isEnded = false;
  const deliver = (message: unknown, take: (copy: unknown) => void) => {
    const copy = structuredClone(message);
    setImmediate(() => !isEnded && take(copy));
  };
  const inside: Port = {
    onmessage: null,
    postMessage: (answers: unknown) => deliver(answers, (copy) => hear(copy as AnswerBatch)),
  };
  serve(inside);
  return {
    send: (requests: RequestBatch) =>
      deliver(requests, (data) => inside.onmessage?.call(inside as Worker, { data } as MessageEvent)),
    end() {
      isEnded = true;
    },
  };
};
