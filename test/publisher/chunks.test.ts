import { describe, expect, test } from 'vitest';
import { chunkedSize, type Message, writeMessage } from '../../runtime/media/rtmp/message-writer.ts';

const message = (change: Partial<Message>): Message => ({
  chunkStream: 6,
  type: 9,
  streamId: 1,
  timestamp: 0,
  chunkSize: 128,
  body: new Uint8Array(0),
  ...change,
});

describe('writing chunks', () => {
  test('one header, then the body', () => {
    const body = Uint8Array.from([1, 2, 3]);
    const bytes = written(message({ body, timestamp: 0x010203, streamId: 0x01020304 }));
    expect([...bytes]).toEqual([6, 1, 2, 3, 0, 0, 3, 9, 4, 3, 2, 1, 1, 2, 3]);
  });

  test('a long body is cut, each part behind one byte', () => {
    const body = Uint8Array.from({ length: 300 }, (_, n) => n % 251);
    const bytes = written(message({ body }));
    expect(bytes.length).toBe(12 + 300 + 2);
    expect([bytes[12 + 128], bytes[12 + 128 + 129]]).toEqual([0xc6, 0xc6]);
    expect([...bytes.slice(12, 140), ...bytes.slice(141, 269), ...bytes.slice(270)]).toEqual([...body]);
  });

  test.each([0, 1, 127, 128, 129, 256, 257, 70_000])('a body of %d bytes comes back whole', (length) => {
    const body = Uint8Array.from({ length }, (_, n) => (n * 7) % 256);
    for (const timestamp of [0, 0xfffffe, 0xffffff, 0x1000000, 0xffffffff]) {
      for (const chunkSize of [128, 4096, 65_536]) {
        const whole = message({ body, timestamp, chunkSize });
        const back = read(written(whole), chunkSize);
        expect(back.timestamp).toBe(timestamp);
        expect(Buffer.compare(back.body, body)).toBe(0);
      }
    }
  });

  test('the timestamp wraps at 32 bits', () => {
    const body = Uint8Array.from([1]);
    expect(read(written(message({ body, timestamp: 2 ** 32 + 5 })), 128).timestamp).toBe(5);
  });
});

function written(whole: Message): Uint8Array {
  const out = new Uint8Array(chunkedSize(whole.body.length, whole.chunkSize));
  return out.slice(0, writeMessage(out, 0, whole));
}

/** A reader that knows only what RTMP 5.3.1 says. */
function read(bytes: Uint8Array, chunkSize: number): { timestamp: number; body: Uint8Array } {
  const view = new DataView(bytes.buffer);
  const length = view.getUint32(4) >>> 8;
  const short = view.getUint32(1) >>> 8;
  const body = new Uint8Array(length);
  let received = 0;
  let timestamp = short;
  let at = 12;
  for (;;) {
    if (short === 0xffffff) {
      timestamp = view.getUint32(at);
      at += 4;
    }
    const count = Math.min(chunkSize, length - received);
    body.set(bytes.subarray(at, at + count), received);
    received += count;
    at += count;
    if (received === length) break;
    if (bytes[at] !== 0xc6) throw new Error(`no chunk at ${at}`);
    at += 1;
  }
  expect(at).toBe(bytes.length);
  return { timestamp, body };
}
