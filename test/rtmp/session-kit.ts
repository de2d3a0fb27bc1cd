/** What the tests of a session share: a publish, and the messages around it. */
import type { PublishGrant, PublishRefusal } from '../../core/ports/media.ts';
import {
  command,
  connect,
  createStream,
  handshake,
  message,
  publish,
  recordingHandlers,
  session,
  settle,
} from './kit.ts';

export const opening = [...handshake, ...connect, ...createStream];
export const unpublish = command(['FCUnpublish', 6, null, 'abcd']);
export const ping = message({ fmt: 0, csid: 2, type: 4, stream: 0 }, [0, 6, 1, 2, 3, 4]);

/** An answer that is given when the test says so. */
export function later() {
  let answer: (value: PublishGrant | PublishRefusal) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const promise = new Promise<PublishGrant | PublishRefusal>((resolve, reject) => {
    answer = resolve;
    fail = reject;
  });
  return Object.assign(
    recordingHandlers(() => promise),
    { answer, fail },
  );
}

export async function publishing() {
  const handlers = recordingHandlers();
  let now = 0;
  const made = session({ handlers: handlers.handlers, now: () => now });
  made.feed(opening, publish());
  await settle();
  const sweep = (ms: number) => {
    now += ms;
    made.session.sweep(now);
  };
  return Object.assign(handlers, made, { sweep });
}
