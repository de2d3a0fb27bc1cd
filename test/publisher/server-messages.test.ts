import { expect, test } from 'vitest';
import { writeMessage } from '../../runtime/media/rtmp/message-writer.ts';
import { ServerMessages } from '../../runtime/media/rtmp/server-messages.ts';

const hello = new Uint8Array(3073).fill(3, 0, 1);

/** What was told of bytes that come in pieces of this size. */
function read(bytes: Uint8Array, piece = bytes.length): [number, number[]][] {
  const told: [number, number[]][] = [];
  const messages = new ServerMessages({
    onHandshake: (answer) => expect(answer.length).toBe(1536),
    onMessage: (type, body) => told.push([type, [...body]]),
  });
  for (let at = 0; at < bytes.length; at += piece) messages.receive(bytes.subarray(at, at + piece));
  expect(messages.received).toBe(bytes.length);
  return told;
}

function message(
  type: number,
  body: readonly number[],
  change: { timestamp?: number; chunkStream?: number } = {},
) {
  const out = new Uint8Array(body.length * 2 + 64);
  const whole = {
    type,
    chunkStream: 3,
    timestamp: 0,
    ...change,
    streamId: 0,
    body: Uint8Array.from(body),
    chunkSize: 128,
  };
  return out.slice(0, writeMessage(out, 0, whole));
}

const long = Array.from({ length: 300 }, (_, n) => n % 256);

test.each([1, 2, 7, 100, 5000])('messages of every shape, in pieces of %d bytes', (piece) => {
  const bytes = Buffer.concat([
    hello,
    message(20, long, { timestamp: 0x1000000 }),
    // A header without a message stream (fmt 1), one with a time alone (fmt 2), and none (fmt 3).
    Uint8Array.of(0x43, 0, 0, 1, 0, 0, 2, 4, 8, 9),
    Uint8Array.of(0x83, 0, 0, 1, 6, 7),
    Uint8Array.of(0xc3, 1, 2),
    message(9, [7]),
    // Chunk streams 64 + 1 and 64 + 1 + 256 take two and three bytes.
    Uint8Array.of(0, 1, 0, 0, 0, 0, 0, 1, 20, 0, 0, 0, 0, 5),
    Uint8Array.of(1, 1, 1, 0, 0, 0, 0, 0, 1, 20, 0, 0, 0, 0, 6),
    // Set Chunk Size, obeyed, not told.
    message(1, [0, 0, 1, 44]),
    Uint8Array.of(3, 0, 0, 0, 0, 1, 44, 20, 0, 0, 0, 0, ...long),
  ]);
  expect(read(bytes, piece)).toEqual([
    ...[
      [20, long],
      [4, [8, 9]],
      [4, [6, 7]],
      [4, [1, 2]],
      [20, [5]],
      [20, [6]],
      [20, long],
    ],
  ]);
});

test('a message that is given up by Abort is forgotten, and one inside another is refused', () => {
  const begun = message(20, long).subarray(0, 12 + 128);
  const abort = message(2, [0, 0, 0, 3], { chunkStream: 2 });
  expect(read(Buffer.concat([hello, begun, abort, message(4, [1])]))).toEqual([[4, [1]]]);
  expect(() => read(Buffer.concat([hello, begun, message(4, [1])]))).toThrow('inside another');
});

test('a header costs no more memory than what comes behind it', () => {
  // 60,000 bytes are claimed, one chunk of one byte comes, again and again.
  const claim = Uint8Array.of(3, 0, 0, 0, 0, 0xea, 0x60, 20, 0, 0, 0, 0, 1);
  const flood = Buffer.concat([hello, message(1, [0, 0, 0, 1]), ...Array<Uint8Array>(20_000).fill(claim)]);
  const messages = new ServerMessages({ onHandshake() {}, onMessage() {} });
  Bun.gc(true);
  const before = process.memoryUsage().arrayBuffers;
  expect(() => messages.receive(flood)).toThrow('inside another');
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(50 * 2 ** 20);
});
