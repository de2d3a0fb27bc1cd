import { cidr } from '../../../core/base/cidr.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { PushTrouble } from '../../../core/ports/pusher.ts';
import type { OpeningPush, PushConnection } from '../../../runtime/media/push/connection.ts';
import { type RtmpPushOptions, rtmpPush } from '../../../runtime/media/push/rtmp-push.ts';
import { until } from '../kit.ts';

/** One push to `url`, what it says, and its timers, which run out when they are told to. Loopback is allowed, and names stand for it, unless `options` say otherwise. */
export function pushTo(url: string, options: Partial<RtmpPushOptions> = {}) {
  const timers = new Set<() => void>();
  let now = 1_800_000_000_000;
  const clock: Clock = {
    now: () => now,
    at(_, action) {
      const run = () => {
        timers.delete(run);
        action();
      };
      timers.add(run);
      return () => timers.delete(run);
    },
  };
  const open = rtmpPush({
    clock,
    allow: ['127.0.0.1/32', '::1/128'].map((text) => cidr(text)!),
    lookup: async () => ['127.0.0.1'],
    ...options,
  });
  const seen: { calls: string[]; connection?: PushConnection; trouble?: PushTrouble; isDrained: boolean } = {
    calls: [],
    isDrained: false,
  };
  const opening: OpeningPush = open(url, {
    onOpen(connection) {
      seen.calls.push('open');
      seen.connection = connection;
    },
    onDrain() {
      seen.isDrained = true;
    },
    onEnd(trouble) {
      seen.calls.push('end');
      seen.trouble = trouble;
    },
  });
  return {
    ...opening,
    calls: seen.calls,
    timers: () => timers.size,
    /** Every wait that is under way is over. */
    expire() {
      for (const run of [...timers]) run();
    },
    pass(ms: number) {
      now += ms;
    },
    get trouble() {
      return seen.trouble;
    },
    get connection() {
      return seen.connection;
    },
    opened: async (): Promise<PushConnection> => {
      await until('the push to open', () => seen.connection ?? seen.trouble);
      if (!seen.connection) throw new Error(`it ended: ${seen.trouble?.reason}: ${seen.trouble?.message}`);
      return seen.connection;
    },
    ended: async (): Promise<PushTrouble> => {
      await until('the push to end', () => seen.trouble);
      return seen.trouble as PushTrouble;
    },
    /** Writes all of `bytes`, as the network takes them. */
    async send(bytes: Uint8Array): Promise<void> {
      for (let at = 0; at < bytes.length; ) {
        seen.isDrained = false;
        const count = (seen.connection as PushConnection).write(bytes.subarray(at));
        at += count;
        if (at < bytes.length) await until('the network to take more', () => seen.isDrained);
      }
    },
  };
}

/** One message as the connection wants it written. */
export function framed(
  connection: PushConnection,
  message: { type: number; timestamp: number; body: Uint8Array },
): Uint8Array {
  const { type, timestamp, body } = message;
  const out = new Uint8Array(connection.framing.sizeOf(body.length));
  return out.subarray(0, connection.framing.write(out, 0, type, timestamp, body, 0, body.length));
}
