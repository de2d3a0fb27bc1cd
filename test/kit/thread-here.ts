import type { Thread } from '../../runtime/drivers/store/sqlite/channel.ts';
import { type Port, serve } from '../../runtime/drivers/store/sqlite/serve.ts';

/**
 * What the store has in a thread of its own, in the thread of the test: the same database and the same messages, copied
 * and a turn later. A worker for each world would be a third of what worlds cost; the store's own tests have one.
 */
export function threadHere(): Thread {
  let isEnded = false;
  const deliver = (to: Pick<Port, 'onmessage'>, message: unknown) => {
    const data = structuredClone(message);
    setImmediate(() => {
      if (!isEnded) to.onmessage?.call(to as Worker, { data } as MessageEvent);
    });
  };
  const inside: Port = { onmessage: null, postMessage: (message: unknown) => deliver(outside, message) };
  const outside: Thread = {
    onmessage: null,
    onmessageerror: null,
    onerror: null,
    postMessage: (message: unknown) => deliver(inside, message),
    addEventListener() {},
    terminate() {
      isEnded = true;
    },
  };
  serve(inside);
  return outside;
}
