/**
 * kafkajs 2.2.4 with its request queue mended (tulios/kafkajs#1751), loaded by the first call. That queue arms a timer after every
 * request for the end of a throttling that there is not, with a negative time: the runtime warns of it on stderr and makes it 1 ms,
 * and as each such timer arms the next, every idle connection wakes the process 1000 times a second. A timer is needed only
 * while something waits, or must. It is mended for the whole process, whoever makes the client.
 */
export async function mendedKafkajs(): Promise<typeof import('kafkajs')> {
  const path = 'kafkajs/src/network/requestQueue/index.js';
  const { prototype } = ((await import(path)) as { default: { prototype: RequestQueue } }).default;
  const { scheduleCheckPendingRequests: schedule } = prototype;
  if (!mended.has(schedule)) {
    prototype.scheduleCheckPendingRequests = function () {
      if (this.pending.length > 0 || this.throttledUntil > Date.now()) schedule.call(this);
    };
    mended.add(prototype.scheduleCheckPendingRequests);
  }
  return import('kafkajs');
}

const mended = new WeakSet<object>();

/** What kafkajs keeps to itself. */
interface RequestQueue {
  readonly pending: readonly unknown[];
  /** Epoch ms; -1 at first. */
  readonly throttledUntil: number;
  scheduleCheckPendingRequests(): void;
}
