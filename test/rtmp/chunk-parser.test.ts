import { describe, expect, it } from 'vitest';
import { ChunkParser } from '../../runtime/media/rtmp/chunk-parser.ts';
import { ProtocolError } from '../../runtime/media/rtmp/protocol-error.ts';
import { chunk, command, message, pattern, recordingSink } from './kit.ts';

const messageBytes = 10 * 1024 * 1024;

interface Control {
  type: number;
  stream: number;
  bytes: number[];
  timestamp: number;
}

function parse(options: { attach?: boolean; keep?: number; arena?: number } = {}) {
  const control: Control[] = [];
  const sink = recordingSink({ keep: options.keep, limit: options.arena });
  const parser = new ChunkParser({
    messageBytes,
    onControl: (type, stream, bytes, start, end, timestamp) =>
      void control.push({ type, stream, bytes: [...bytes.subarray(start, end)], timestamp }),
  });
  if (options.attach !== false) parser.attach(sink, 1);
  /** Feeds pieces of `size` bytes, each in a buffer that is wiped afterwards, as a socket's would be. */
  const feed = (bytes: readonly number[], size = bytes.length) => {
    for (let at = 0; at < bytes.length; at += size) {
      const piece = Uint8Array.from([0xee, ...bytes.slice(at, at + size), 0xee]);
      expect(parser.feed(piece, 1, piece.length - 1)).toBe(piece.length - 1);
      piece.fill(0xdd);
    }
  };
  return { parser, sink, control, feed };
}

const chunkSize = (size: number) =>
  message({ fmt: 0, csid: 2, type: 1, stream: 0 }, [
    size >>> 24,
    (size >> 16) & 0xff,
    (size >> 8) & 0xff,
    size & 0xff,
  ]);
const abort = (csid: number) =>
  message({ fmt: 0, csid: 2, type: 2, stream: 0 }, [0, 0, csid >> 8, csid & 0xff]);

/** A session with a bit of everything, and what must come of it. */
function mixture() {
  const bytes = [
    ...command(['connect', 1, { app: 'live', padding: 'x'.repeat(300) }]),
    ...message({ fmt: 0, csid: 6, type: 9, time: 0 }, pattern(500)),
    ...message({ fmt: 0, csid: 319, type: 8, time: 0xfffffe }, pattern(10)),
    ...message({ fmt: 1, csid: 319, type: 8, time: 1 }, pattern(200)),
    ...message({ fmt: 2, csid: 319, time: 23 }, pattern(200, 1)),
    ...message({ fmt: 3, csid: 319 }, pattern(200, 2)),
    ...message({ fmt: 0, csid: 65_599, type: 9, time: 0x1000000 }, pattern(300)),
    ...message({ fmt: 0, csid: 64, type: 9, time: 0x2000000 }, pattern(300), { repeat: false }),
    ...chunkSize(200),
    ...message({ fmt: 0, csid: 6, type: 18, time: 5 }, pattern(450), { chunkSize: 200 }),
    ...message({ fmt: 1, csid: 6, type: 9, time: 7 }, pattern(450), { chunkSize: 200 }),
    ...chunk({ fmt: 1, csid: 6, type: 9, time: 40, length: 0 }),
    ...message({ fmt: 1, csid: 6, type: 9, time: 40 }, [1, 2, 3], { chunkSize: 200 }),
  ];
  const heard = [
    { kind: 'video', timestamp: 0, bytes: pattern(500) },
    { kind: 'audio', timestamp: 0xfffffe, bytes: pattern(10) },
    { kind: 'audio', timestamp: 0xffffff, bytes: pattern(200) },
    { kind: 'audio', timestamp: 0xffffff + 23, bytes: pattern(200, 1) },
    { kind: 'audio', timestamp: 0xffffff + 46, bytes: pattern(200, 2) },
    { kind: 'video', timestamp: 0x1000000, bytes: pattern(300) },
    { kind: 'video', timestamp: 0x2000000, bytes: pattern(300) },
    { kind: 'video', timestamp: 12, bytes: pattern(450) },
    { kind: 'video', timestamp: 92, bytes: [1, 2, 3] },
  ];
  return { bytes, heard };
}

describe('chunk parser', () => {
  it('puts messages together whatever the size of the reads', () => {
    const { bytes, heard } = mixture();
    for (const size of [
      ...Array(40).keys(),
      62,
      63,
      64,
      126,
      127,
      128,
      129,
      130,
      199,
      200,
      255,
      1000,
      5000,
    ]) {
      const { sink, control, feed } = parse({ keep: 1 + (size % 3) });
      feed(bytes, size + 1);
      expect(sink.heard).toEqual(heard);
      expect(control.map(({ type }) => type)).toEqual([20, 18]);
      expect(control[1]).toEqual({ type: 18, stream: 1, bytes: pattern(450), timestamp: 5 });
    }
  });

  it('cuts anywhere once', () => {
    const { bytes, heard } = mixture();
    const expected = JSON.stringify(heard);
    const wrong: number[] = [];
    for (let split = 1; split < bytes.length; split += 1) {
      const { sink, feed } = parse();
      feed(bytes.slice(0, split));
      feed(bytes.slice(split));
      if (JSON.stringify(sink.heard) !== expected) wrong.push(split);
    }
    expect(wrong).toEqual([]);
  });

  it.each([2, 3, 63, 64, 65, 319, 320, 321, 575, 65_598, 65_599])(
    'tells chunk stream %i from all others',
    (csid) => {
      const { sink, feed } = parse();
      feed(message({ fmt: 0, csid, type: 9, time: 1000 }, [1]));
      for (const other of [4, 66, 322, 65_597]) feed(message({ fmt: 0, csid: other, type: 8, time: 5 }, [9]));
      feed(message({ fmt: 2, csid, time: 10 }, [2]));
      expect(sink.heard.filter(({ kind }) => kind === 'video').map(({ timestamp }) => timestamp)).toEqual([
        1000, 1010,
      ]);
    },
  );

  it('adds the field of the last header when fmt 3 begins a message', () => {
    const { sink, feed } = parse();
    const one = (header: Parameters<typeof chunk>[0]) => feed(message(header, [1]));
    one({ fmt: 0, csid: 6, time: 1000 });
    one({ fmt: 3, csid: 6 });
    one({ fmt: 1, csid: 6, time: 40 });
    one({ fmt: 3, csid: 6 });
    one({ fmt: 2, csid: 6, time: 20 });
    one({ fmt: 3, csid: 6 });
    one({ fmt: 3, csid: 6 });
    expect(sink.heard.map(({ timestamp }) => timestamp)).toEqual([1000, 2000, 2040, 2080, 2100, 2120, 2140]);
  });

  it('wraps at 2^32 and takes deltas that go back', () => {
    const { sink, feed } = parse();
    feed(message({ fmt: 0, csid: 6, time: 0xfffffff0 }, pattern(300)));
    feed(message({ fmt: 1, csid: 6, time: 0x20 }, pattern(300)));
    feed(message({ fmt: 1, csid: 6, time: 0xfffffff0 }, pattern(300)));
    feed(message({ fmt: 3, csid: 6, time: 0xfffffff0, extended: true }, pattern(300)));
    expect(sink.heard.map(({ timestamp }) => timestamp)).toEqual([0xfffffff0, 0x10, 0, 0xfffffff0]);
    for (const { bytes } of sink.heard) expect(bytes).toEqual(pattern(300));
  });

  it.each([0xfffffe, 0xffffff, 0x1000000, 0x7fffffff, 0x80000000, 0xffffffff])(
    'reads timestamp %i from senders that repeat it and those that do not',
    (time) => {
      for (const repeat of [true, false]) {
        for (const size of [1, 2, 3, 4, 5, 7, 127, 128, 129, 131, 500]) {
          const { sink, feed } = parse();
          // The payload after each header begins like the timestamp, and goes on otherwise.
          const start = [time >>> 24, (time >> 16) & 0xff, (time >> 8) & 0xff, (time & 0xff) ^ 1];
          for (const tail of [1, 2, 3, 4, 100]) {
            const bytes = [...pattern(128), ...[...start, ...pattern(100)].slice(0, tail)];
            feed(message({ fmt: 0, csid: 6, time }, bytes, { repeat }), size);
            feed(message({ fmt: 0, csid: 4, type: 8, time: 1 }, [1]), size);
            expect(sink.heard.at(-2)).toEqual({ kind: 'video', timestamp: time, bytes });
          }
          expect(sink.heard.length).toBe(10);
        }
      }
    },
  );

  it('applies a chunk size between chunks, in the middle of a message', () => {
    for (const [before, after] of [
      [128, 1],
      [128, 64],
      [128, 127],
      [128, 4096],
      [128, 65_536],
      [128, 0x7fffffff],
    ]) {
      const { sink, feed } = parse();
      const body = pattern(700);
      feed(chunk({ fmt: 0, csid: 6, length: 700 }, body.slice(0, before)));
      feed(chunkSize(after));
      for (let at = before; at < 700; at += after)
        feed(chunk({ fmt: 3, csid: 6 }, body.slice(at, at + after)));
      expect(sink.heard).toEqual([{ kind: 'video', timestamp: 0, bytes: body }]);
    }
  });

  it('refuses a chunk size of 0, of 2^31, and none at all', () => {
    expect(() => parse().feed(chunkSize(0))).toThrow(ProtocolError);
    expect(() => parse().feed(chunkSize(0x80000000))).toThrow(ProtocolError);
    expect(() => parse().feed(message({ fmt: 0, csid: 2, type: 1 }, []))).toThrow(ProtocolError);
    expect(() => parse().feed(message({ fmt: 0, csid: 2, type: 1 }, [0, 1, 0]))).toThrow(ProtocolError);
    expect(() => parse().feed(message({ fmt: 0, csid: 2, type: 2 }, []))).toThrow(ProtocolError);
  });

  it('interleaves audio, video and commands', () => {
    const { sink, control, feed } = parse();
    const parts = [6, 4, 3].map((csid, index) => {
      const type = [9, 8, 20][index];
      const body = pattern(400, csid);
      return [0, 1, 2, 3].map((part) => {
        const bytes = body.slice(part * 128, part * 128 + 128);
        return part === 0
          ? chunk({ fmt: 0, csid, type, length: 400, time: csid }, bytes)
          : chunk({ fmt: 3, csid }, bytes);
      });
    });
    for (let part = 0; part < 4; part += 1) for (const stream of parts) feed(stream[part]);
    expect(sink.heard).toEqual([
      { kind: 'video', timestamp: 6, bytes: pattern(400, 6) },
      { kind: 'audio', timestamp: 4, bytes: pattern(400, 4) },
    ]);
    expect(control).toEqual([{ type: 20, stream: 1, bytes: pattern(400, 3), timestamp: 3 }]);
  });

  it.each([8, 9])('puts two messages of type %i together at once', (type) => {
    for (const keep of [1, 3, 100]) {
      const { sink, feed } = parse({ keep });
      const kind = type === 9 ? 'video' : 'audio';
      const first = pattern(300, 1);
      const second = pattern(200, 2);
      for (let round = 0; round < 5; round += 1) {
        // The second one ends inside the first, then the first goes on to its end.
        feed(chunk({ fmt: 0, csid: 6, type, length: 300, time: 1 }, first.slice(0, 128)));
        feed(chunk({ fmt: 0, csid: 7, type, length: 200, time: 2 }, second.slice(0, 128)));
        feed(chunk({ fmt: 3, csid: 6 }, first.slice(128, 256)));
        feed(chunk({ fmt: 3, csid: 7 }, second.slice(128)));
        feed(chunk({ fmt: 3, csid: 6 }, first.slice(256)));
        feed(message({ fmt: 0, csid: 7, type, time: 3 }, [1]));
      }
      expect(sink.heard).toEqual(
        Array(5)
          .fill([
            { kind, timestamp: 2, bytes: second },
            { kind, timestamp: 1, bytes: first },
            { kind, timestamp: 3, bytes: [1] },
          ])
          .flat(),
      );
    }
  });

  it('gives up an aborted message, in its arena and aside', () => {
    const { sink, feed } = parse();
    feed(chunk({ fmt: 0, csid: 6, length: 300, time: 1 }, pattern(128)));
    feed(chunk({ fmt: 0, csid: 700, length: 300, time: 2 }, pattern(128)));
    feed(abort(700));
    feed(abort(6));
    feed(abort(99));
    expect([sink.video.length, sink.video.messageStart]).toEqual([0, -1]);
    feed(message({ fmt: 1, csid: 700, time: 1 }, pattern(200)));
    feed(message({ fmt: 0, csid: 6, time: 10 }, pattern(300)));
    expect(sink.heard).toEqual([
      { kind: 'video', timestamp: 3, bytes: pattern(200) },
      { kind: 'video', timestamp: 10, bytes: pattern(300) },
    ]);
  });

  it('steps over media without a sink, and over media of another message stream', () => {
    const { parser, sink, control, feed } = parse({ attach: false });
    feed(message({ fmt: 0, csid: 6, time: 1 }, pattern(5000)));
    feed(message({ fmt: 0, csid: 8, type: 18 }, pattern(100)));
    feed(chunk({ fmt: 0, csid: 6, length: 300, time: 1 }, pattern(128)));
    parser.attach(sink, 1);
    feed(chunk({ fmt: 3, csid: 6 }, pattern(128)));
    feed(chunk({ fmt: 3, csid: 6 }, pattern(44)));
    feed(message({ fmt: 0, csid: 6, stream: 2 }, pattern(300)));
    feed(message({ fmt: 0, csid: 6, stream: 0 }, pattern(300)));
    feed(message({ fmt: 0, csid: 8, type: 18, stream: 2 }, pattern(100)));
    feed(message({ fmt: 0, csid: 6, time: 9 }, [7]));
    feed(chunk({ fmt: 0, csid: 6, length: 300, time: 10 }, pattern(128)));
    parser.detach();
    expect([sink.video.length, sink.video.messageStart]).toEqual([0, -1]);
    feed(chunk({ fmt: 3, csid: 6 }, pattern(128)));
    parser.attach(sink, 1);
    feed(chunk({ fmt: 3, csid: 6 }, pattern(44)));
    expect(sink.heard).toEqual([{ kind: 'video', timestamp: 9, bytes: [7] }]);
    expect(control).toEqual([]);
  });

  it('lets the sink end the publish in the middle of a call', () => {
    const { parser, sink, feed } = parse();
    sink.onVideo = () => parser.detach();
    feed([
      ...message({ fmt: 0, csid: 6 }, [1]),
      ...message({ fmt: 0, csid: 6 }, [1]),
      ...message({ fmt: 0, csid: 4, type: 8 }, [1]),
    ]);
    expect(sink.heard).toEqual([]);
  });

  it('stops behind the message that pauses it', () => {
    const control: number[] = [];
    const parser = new ChunkParser({
      messageBytes,
      onControl(type) {
        control.push(type);
        parser.paused = true;
      },
    });
    const one = Uint8Array.from(message({ fmt: 0, csid: 3, type: 20, stream: 0 }, [1]));
    const bytes = Uint8Array.from([...one, ...one]);
    expect(parser.feed(bytes, 0, bytes.length)).toBe(one.length);
    expect(parser.feed(bytes, one.length, bytes.length)).toBe(one.length);
    parser.paused = false;
    expect(parser.feed(bytes, one.length, bytes.length)).toBe(bytes.length);
    expect(control).toEqual([20, 20]);
  });

  it('refuses messages, chunk streams and unfinished bytes beyond the limits', () => {
    const header = (length: number, type: number, csid = 6) => chunk({ fmt: 0, csid, type, length }, []);
    expect(() => parse().feed(header(messageBytes, 9))).not.toThrow();
    expect(() => parse().feed(header(messageBytes + 1, 9))).toThrow('larger than the limit');
    expect(() => parse({ attach: false }).feed(header(0xffffff, 9))).toThrow('larger than the limit');
    expect(() => parse().feed(header(65_536, 20))).not.toThrow();
    expect(() => parse().feed(header(65_537, 20))).toThrow('larger than the limit');
    expect(() => parse().feed(header(65_537, 18))).toThrow('larger than the limit');
    expect(() => parse({ attach: false }).feed(header(65_537, 3))).toThrow('larger than the limit');

    const { feed } = parse();
    for (let csid = 2; csid < 66; csid += 1) feed(message({ fmt: 0, csid, type: 8 }, [1]));
    expect(() => feed(message({ fmt: 0, csid: 66, type: 8 }, [1]))).toThrow('too many chunk streams');

    const aside = parse({ attach: false });
    aside.feed(chunkSize(60_000));
    expect(() => {
      for (let csid = 3; csid < 60; csid += 1) {
        aside.feed(chunk({ fmt: 0, csid, type: 20, length: 60_001 }, Array(60_000).fill(1)));
      }
    }).toThrow('unfinished');

    const full = parse({ arena: 1000, keep: 1_000_000 });
    expect(() => {
      for (let count = 0; count < 20; count += 1) full.feed(message({ fmt: 0, csid: 6 }, pattern(100)));
    }).toThrow('more media than its limit');
  });

  it('refuses chunk streams that begin in the middle and messages inside messages', () => {
    expect(() => parse().feed(chunk({ fmt: 2, csid: 6 }, [1]))).toThrow('without a full header');
    expect(() => parse().feed(chunk({ fmt: 3, csid: 6 }, [1]))).toThrow('without a full header');
    for (const fmt of [0, 1, 2] as const) {
      const { feed } = parse();
      feed(chunk({ fmt: 0, csid: 6, length: 300 }, pattern(128)));
      expect(() => feed(chunk({ fmt, csid: 6 }, [1]))).toThrow('inside another');
    }
  });

  it('takes fmt 1 as the first chunk of a stream, as librtmp sends it', () => {
    const { control, feed } = parse();
    feed(message({ fmt: 1, csid: 2, type: 4, time: 3 }, [0, 6, 1, 2, 3, 4]));
    expect(control).toEqual([{ type: 4, stream: 0, bytes: [0, 6, 1, 2, 3, 4], timestamp: 3 }]);
  });

  it('skips types it does not know', () => {
    const { control, sink, feed } = parse();
    for (const type of [0, 7, 10, 16, 19, 22, 255]) feed(message({ fmt: 0, csid: 6, type }, pattern(300)));
    feed(message({ fmt: 0, csid: 6 }, [1]));
    expect(control).toEqual([]);
    expect(sink.heard.length).toBe(1);
  });
});
