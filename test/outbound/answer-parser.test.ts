import { describe, expect, it } from 'vitest';
import { AnswerParser } from '../../runtime/drivers/outbound/answer-parser.ts';

const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
const body = Buffer.from(Array.from({ length: 70_000 }, (_, at) => (at * 7919) % 251));

/** What an answer is taken for that comes in these pieces. */
function parsed(pieces: readonly Buffer[]) {
  const heard: Buffer[] = [];
  const order: string[] = [];
  const parser = new AnswerParser(
    {
      head: () => void order.push('head'),
      body(bytes) {
        // It is a part of what was pushed, or of what is used no more.
        heard.push(Buffer.from(bytes));
        if (order.at(-1) !== 'body') order.push('body');
      },
    },
    { isHead: false },
  );
  let wrong: string | undefined;
  for (const piece of pieces) wrong ??= parser.push(piece);
  return { body: Buffer.concat(heard), pieces: heard.length, order, wrong, isDone: parser.isDone };
}

/** The body in chunks of these sizes, one after the other and again. */
function chunked(sizes: readonly number[], text: (size: number) => string = (size) => size.toString(16)) {
  const parts = [Buffer.from(head)];
  let at = 0;
  for (let n = 0; at < body.length; n += 1) {
    const chunk = body.subarray(at, at + sizes[n % sizes.length]);
    parts.push(Buffer.from(`${text(chunk.length)}\r\n`), chunk, Buffer.from('\r\n'));
    at += chunk.length;
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}

function cut(bytes: Buffer, size: number): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(Buffer.from(bytes.subarray(at, at + size)));
  return pieces;
}

describe('the body of chunks', () => {
  it.each([[[1]], [[1, 2, 3]], [[1, 5000, 1, 1]], [[1024, 1025, 7]], [[16_384]], [[70_000]], [[40, 30_000]]])(
    'of %j bytes is those bytes, however it comes',
    (sizes) => {
      const bytes = chunked(sizes);
      for (const size of [1, 2, 3, 7, 100, 4096, 16_384, 65_537, bytes.length]) {
        const got = parsed(cut(bytes, size));
        expect([size, got.wrong, got.isDone, got.order]).toEqual([
          ...[size, undefined, true],
          ['head', 'body'],
        ]);
        expect(got.body.equals(body)).toBe(true);
      }
    },
  );

  it.each([
    ['upper case', (size: number) => size.toString(16).toUpperCase()],
    ['zeros in front', (size: number) => size.toString(16).padStart(12, '0')],
    ['space behind', (size: number) => `${size.toString(16)} \t`],
  ])('has sizes with %s', (_, text) => {
    expect(parsed([chunked([1500], text)]).body.equals(body)).toBe(true);
  });

  it.each(['', 'g', '1g', '0x1', '-1', '+1', '1\r', ' 1', '1'.repeat(13), '1 1'])(
    'is malformed where a size is %j',
    (size) => {
      const bytes = Buffer.from(`${head}2\r\nab\r\n${size}\r\na\r\n0\r\n\r\n`);
      for (const pieces of [[bytes], cut(bytes, 1)]) {
        const { wrong, body: got, isDone } = parsed(pieces);
        expect([wrong, got.toString(), isDone]).toEqual([expect.stringContaining('chunk'), 'ab', false]);
      }
    },
  );

  it.each(['abc\r\n', 'ab\n', 'ab\r', 'ab\rx\n'])('is longer than it said: %j', (chunk) => {
    const bytes = Buffer.from(`${head}2\r\n${chunk}2\r\ncd\r\n0\r\n\r\n`);
    for (const pieces of [[bytes], cut(bytes, 1)]) expect(parsed(pieces).wrong).toContain('chunk');
  });

  it('of one byte each makes no string and no piece for each', () => {
    const bytes = Buffer.from(`${head}${'1\r\na\r\n'.repeat(80_000)}0\r\n\r\n`);
    let works = 0;
    // What of a buffer is asked for, where it makes something or looks for something.
    for (const name of ['toString', 'subarray', 'slice', 'indexOf', 'copy', 'latin1Slice'] as const) {
      const own = (bytes as unknown as Record<string, unknown>)[name] as (...args: unknown[]) => unknown;
      Object.defineProperty(bytes, name, {
        value(...args: unknown[]) {
          works += 1;
          return own.apply(bytes, args);
        },
      });
    }
    const { pieces, isDone, body: got } = parsed([bytes]);
    expect([isDone, got.length]).toEqual([true, 80_000]);
    expect(works).toBeLessThan(20);
    expect(pieces).toBeLessThan(10);
  });
});
