import { describe, expect, it } from 'vitest';
import { type AmfValue, encodeAmf0, readAmf0 } from '../../runtime/media/rtmp/amf0.ts';
import { ProtocolError } from '../../runtime/media/rtmp/protocol-error.ts';

const read = (bytes: readonly number[] | Uint8Array) => readAmf0(Uint8Array.from(bytes), 0, bytes.length);

describe('AMF0', () => {
  it('reads what it writes', () => {
    const values: AmfValue[] = [
      'connect',
      1,
      -0.5,
      true,
      false,
      null,
      undefined,
      { app: 'live', nested: { list: [1, 'zwei', null] }, empty: {} },
      'ü'.repeat(20_000),
      [],
    ];
    expect(read(encodeAmf0(values))).toEqual(values);
  });

  it('reads long strings, dates and ECMA arrays whose count lies', () => {
    expect(read([12, 0, 0, 0, 2, 0x68, 0x69])).toEqual(['hi']);
    expect(read([11, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 60])).toEqual([2]);
    expect(read([8, 0xff, 0xff, 0xff, 0xff, 0, 1, 0x61, 1, 1, 0, 0, 9])).toEqual([{ a: true }]);
  });

  it('reads only the range it is given', () => {
    expect(readAmf0(Uint8Array.from([9, 5, 5, 9]), 1, 3)).toEqual([null, null]);
    expect(() => readAmf0(Uint8Array.from([2, 0, 2, 0x61, 0x61]), 0, 4)).toThrow(ProtocolError);
  });

  it('lets `__proto__` and duplicate keys do no harm', () => {
    const key = (name: string) => [0, name.length, ...new TextEncoder().encode(name)];
    const [value] = read([
      3,
      ...key('__proto__'),
      3,
      ...key('x'),
      1,
      1,
      0,
      0,
      9,
      ...key('a'),
      5,
      ...key('a'),
      1,
      1,
      0,
      0,
      9,
    ]);
    expect(Object.getPrototypeOf(value)).toBe(null);
    expect(Object.keys(value as object)).toEqual(['__proto__', 'a']);
    expect((value as { a: boolean }).a).toBe(true);
    expect(({} as { x?: unknown }).x).toBe(undefined);
  });

  it('refuses what is cut short, at every byte', () => {
    const bytes = encodeAmf0([{ a: [1, 'b', { c: true }] }]);
    for (let length = 1; length < bytes.length; length += 1) {
      expect(() => readAmf0(bytes, 0, length)).toThrow(ProtocolError);
    }
  });

  it('refuses depth, counts and types without work', () => {
    const nested = (depth: number) => [...Array(depth).fill([10, 0, 0, 0, 1]).flat(), 5];
    expect(() => read(nested(16))).not.toThrow();
    expect(() => read(nested(17))).toThrow('nested too deeply');
    expect(() => read(nested(10_000))).toThrow('nested too deeply');
    expect(() => read([10, 0xff, 0xff, 0xff, 0xff])).toThrow('cut short');
    expect(() => read([10, 0, 0, 4, 0, ...Array(1024).fill(5)])).toThrow('too many values');
    expect(() => read(Array(1001).fill(5))).toThrow('too many values');
    expect(() => read([12, 0, 1, 0, 0, ...Array(65_536).fill(0x61)])).toThrow('too long');
    for (const type of [4, 7, 9, 13, 14, 15, 16, 17, 255]) {
      expect(() => read([type, 0, 0, 0, 0, 0, 0, 0, 0])).toThrow('not supported');
    }
  });
});
