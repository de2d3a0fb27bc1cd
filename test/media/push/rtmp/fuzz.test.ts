import { expect, test } from 'vitest';
import { encodeAmf0 } from '../../../../runtime/media/rtmp/amf0.ts';
import { ClientSession } from '../../../../runtime/media/rtmp/client-session.ts';
import { writeMessage } from '../../../../runtime/media/rtmp/message-writer.ts';
import { ProtocolError } from '../../../../runtime/media/rtmp/protocol-error.ts';
import { until } from '../../kit.ts';
import { farSide } from '../far-side.ts';
import { pushTo } from './kit.ts';

/** Numbers from 0 to `below`, always the same for a seed (mulberry32). */
function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** What a server could say: right answers, some of them spoilt, and noise. */
function speech(roll: (below: number) => number): Buffer {
  const parts: Uint8Array[] = [new Uint8Array(3073).fill(3, 0, 1)];
  const answers = [
    ['_result', 1, {}, { code: 'NetConnection.Connect.Success' }],
    ['_result', 4, null, 1],
    ['onStatus', 0, null, { level: 'status', code: 'NetStream.Publish.Start' }],
    ['onBWDone', 0, null],
    ['onStatus', 0, null, { level: 'error', code: 'NetStream.Publish.BadName' }],
  ];
  for (let count = 0; count < 40; count += 1) {
    const kind = roll(10);
    if (kind === 0) parts.push(Uint8Array.from({ length: roll(200) }, () => roll(256)));
    else {
      const body =
        kind < 6
          ? encodeAmf0(answers[count < 8 ? Math.min(count, roll(4)) : roll(5)])
          : Uint8Array.from({ length: roll(40) }, () => roll(256));
      const type = kind < 6 ? 20 : roll(23);
      const chunkStream = 2 + roll(62);
      const message = {
        chunkStream,
        type,
        streamId: roll(3),
        timestamp: roll(2 ** 32),
        body,
        chunkSize: 128,
      };
      const out = new Uint8Array(body.length * 2 + 64);
      parts.push(out.subarray(0, writeMessage(out, 0, message)));
    }
  }
  const bytes = Buffer.concat(parts);
  for (let spoilt = roll(4); spoilt > 0; spoilt -= 1) bytes[roll(bytes.length)] = roll(256);
  return bytes;
}

test('whatever a server says, in whatever pieces, only the protocol can be wrong', () => {
  const roll = dice(20261122);
  const target = { app: 'live', key: 'secret-key', tcUrl: 'rtmp://a/live' };
  const outcomes = { wrong: 0, refused: 0, publishing: 0 };
  for (let round = 0; round < 3000; round += 1) {
    let said = 0;
    const session = new ClientSession({
      target,
      chunkSize: 65_536,
      isPush: true,
      send: (bytes) => {
        said += bytes.length;
      },
      onPublishing() {
        outcomes.publishing += 1;
      },
      onRefused() {
        outcomes.refused += 1;
      },
      onEnded() {},
    });
    session.begin();
    const bytes = speech(roll);
    try {
      for (let at = 0; at < bytes.length; ) {
        const to = at + 1 + roll(600);
        session.receive(bytes.subarray(at, to));
        at = to;
      }
    } catch (error) {
      expect(error).toBeInstanceOf(ProtocolError);
      expect((error as Error).message).not.toContain('secret');
      outcomes.wrong += 1;
    }
    // The handshake, five commands, and an answer to each of 40 messages.
    expect(said).toBeLessThan(8000);
  }
  // It gets everywhere.
  for (const count of Object.values(outcomes)) expect(count).toBeGreaterThan(50);
});

test('whatever comes over a socket, the push ends once and keeps little', async () => {
  const roll = dice(5);
  const before = process.memoryUsage().arrayBuffers;
  for (let round = 0; round < 60; round += 1) {
    const noise = round % 2 === 0 ? speech(roll) : Buffer.from(Array.from({ length: 6000 }, () => roll(256)));
    if (round % 4 === 1) noise[0] = 3;
    await using far = await farSide({
      whims: { accept: ({ socket }) => socket.end(noise), handshake: () => {} },
    });
    const push = pushTo(far.url());
    const { reason } = await push.ended();
    expect(['protocol', 'closed', 'rejected', 'connect']).toContain(reason);
    expect(push.calls.filter((call) => call === 'end')).toHaveLength(1);
    await until('the far side to be left', () => far.visits.every(({ isClosed }) => isClosed));
    expect(push.timers()).toBe(0);
  }
  Bun.gc(true);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 2 ** 20);
});
