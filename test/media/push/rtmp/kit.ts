import { readdirSync, readlinkSync } from 'node:fs';
import { expect } from 'vitest';
import { cidr } from '../../../../core/base/cidr.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import type { PushTrouble } from '../../../../core/ports/pusher.ts';
import type { OpeningPush, PushConnection } from '../../../../runtime/media/push/connection.ts';
import { type RtmpPushOptions, rtmpPush } from '../../../../runtime/media/push/rtmp-push.ts';
import { quiet, until } from '../../kit.ts';
import type { Whim } from '../far-side.ts';

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

export const silent: Whim = () => {};

/** Whatever a push says, it says nothing of this. */
const secrets = /secret|live|127\.0|::1|receiver\.example|\d{4,5}(?! ms)/;

/** How a push ends, which says nothing that is secret and leaves nothing behind. */
export async function troubleOf(push: ReturnType<typeof pushTo>): Promise<PushTrouble> {
  const trouble = await push.ended();
  expect(trouble.message).not.toMatch(secrets);
  expect(trouble.message).toMatch(/^[A-Z].*[^.]\.$/);
  expect(push.timers()).toBe(0);
  await quiet();
  expect(push.calls.at(-1)).toBe('end');
  expect(push.calls.filter((call) => call === 'end')).toHaveLength(1);
  return trouble;
}

export function bytesOf(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, n) => n % 251);
}

/** What sockets this process has open. */
export function sockets(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const name = readlinkSync(`/proc/self/fd/${fd}`);
      return name.startsWith('socket:') ? [name] : [];
    } catch {
      // It was closed meanwhile, such as the one that lists them.
      return [];
    }
  });
}
