import { ProtocolError } from './protocol-error.ts';

/** What AMF0 carries in RTMP commands and metadata. A date is read as its number, epoch milliseconds. */
export type AmfValue =
  | number
  | string
  | boolean
  | null
  | undefined
  | readonly AmfValue[]
  | { readonly [key: string]: AmfValue };

/**
 * Reads the AMF0 values in `bytes[from, to)` (Adobe AMF0 specification, section 2).
 *
 * Objects have no prototype, so a key such as `__proto__` is a key like any other; of equal keys the last
 * wins. Work is bounded by the bytes present and by the constants below, whatever counts the message claims.
 * Throws `ProtocolError` on anything else: cut short, too deep, too many, a type RTMP has no use for.
 */
export function readAmf0(bytes: Uint8Array, from: number, to: number): AmfValue[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const reader: Reader = { bytes, view, at: from, to, left: MOST_VALUES };
  const values: AmfValue[] = [];
  while (reader.at < to) values.push(readValue(reader, 0));
  return values;
}

/**
 * Writes values one after the other as AMF0. An array is a strict array, an object an anonymous object.
 * Throws `RangeError` for a key above 65,535 bytes: that is a mistake of the caller.
 */
export function encodeAmf0(values: readonly AmfValue[]): Uint8Array<ArrayBuffer> {
  const out: number[] = [];
  for (const value of values) writeValue(out, value);
  return Uint8Array.from(out);
}

/** Nesting, values and bytes of a string in one message; metadata of real encoders is far below. */
const DEEPEST = 16;
const MOST_VALUES = 1000;
const LONGEST_STRING = 65_535;

/** Type markers, AMF0 2.1. */
const NUMBER = 0;
const BOOLEAN = 1;
const STRING = 2;
const OBJECT = 3;
const NULL = 5;
const UNDEFINED = 6;
const ECMA_ARRAY = 8;
const OBJECT_END = 9;
const STRICT_ARRAY = 10;
const DATE = 11;
const LONG_STRING = 12;

interface Reader {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  at: number;
  readonly to: number;
  left: number;
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

function readValue(reader: Reader, depth: number): AmfValue {
  if (--reader.left < 0) throw new ProtocolError('an AMF message holds too many values');
  if (depth > DEEPEST) throw new ProtocolError('an AMF message is nested too deeply');
  switch (reader.bytes[take(reader, 1)]) {
    case NUMBER:
      return reader.view.getFloat64(take(reader, 8));
    case BOOLEAN:
      return reader.bytes[take(reader, 1)] !== 0;
    case STRING:
      return readString(reader, reader.view.getUint16(take(reader, 2)));
    case LONG_STRING:
      return readString(reader, reader.view.getUint32(take(reader, 4)));
    case OBJECT:
      return readMembers(reader, depth);
    case ECMA_ARRAY:
      // The count is only a hint (2.10), and senders get it wrong: the end marker decides.
      take(reader, 4);
      return readMembers(reader, depth);
    case STRICT_ARRAY:
      return readItems(reader, reader.view.getUint32(take(reader, 4)), depth);
    case DATE: {
      const date = reader.view.getFloat64(take(reader, 8));
      take(reader, 2); // a time zone that must be ignored (2.13)
      return date;
    }
    case NULL:
      return null;
    case UNDEFINED:
      return undefined;
    default:
      throw new ProtocolError('an AMF message holds a type that is not supported');
  }
}

function readMembers(reader: Reader, depth: number): AmfValue {
  const members: { [key: string]: AmfValue } = Object.create(null);
  for (;;) {
    const key = readString(reader, reader.view.getUint16(take(reader, 2)));
    if (key === '' && reader.at < reader.to && reader.bytes[reader.at] === OBJECT_END) {
      reader.at += 1;
      return members;
    }
    members[key] = readValue(reader, depth + 1);
  }
}

function readItems(reader: Reader, count: number, depth: number): AmfValue {
  // Every item takes at least one byte, so a count beyond the bytes or the limit is a lie: refused unread.
  if (count > reader.to - reader.at) throw new ProtocolError('an AMF message is cut short');
  if (count > reader.left) throw new ProtocolError('an AMF message holds too many values');
  const items: AmfValue[] = [];
  for (let index = 0; index < count; index += 1) items.push(readValue(reader, depth + 1));
  return items;
}

function readString(reader: Reader, length: number): string {
  if (length > LONGEST_STRING) throw new ProtocolError('an AMF string is too long');
  const start = take(reader, length);
  return length === 0 ? '' : decoder.decode(reader.bytes.subarray(start, start + length));
}

/** Steps over `count` bytes and says where they began. */
function take(reader: Reader, count: number): number {
  const start = reader.at;
  if (count > reader.to - start) throw new ProtocolError('an AMF message is cut short');
  reader.at = start + count;
  return start;
}

function writeValue(out: number[], value: AmfValue): void {
  if (typeof value === 'number') {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setFloat64(0, value);
    out.push(NUMBER, ...bytes);
  } else if (typeof value === 'boolean') out.push(BOOLEAN, value ? 1 : 0);
  else if (typeof value === 'string') writeString(out, value);
  else if (value === null) out.push(NULL);
  else if (value === undefined) out.push(UNDEFINED);
  else if (isList(value)) {
    out.push(STRICT_ARRAY);
    writeUint32(out, value.length);
    for (const item of value) writeValue(out, item);
  } else {
    out.push(OBJECT);
    for (const [key, member] of Object.entries(value)) {
      writeKey(out, key);
      writeValue(out, member);
    }
    out.push(0, 0, OBJECT_END);
  }
}

function writeString(out: number[], text: string): void {
  const bytes = encoder.encode(text);
  if (bytes.length <= 0xffff) out.push(STRING, bytes.length >> 8, bytes.length & 0xff);
  else {
    out.push(LONG_STRING);
    writeUint32(out, bytes.length);
  }
  for (const byte of bytes) out.push(byte);
}

function writeKey(out: number[], key: string): void {
  const bytes = encoder.encode(key);
  if (bytes.length > 0xffff) throw new RangeError('an AMF key is longer than 65,535 bytes');
  out.push(bytes.length >> 8, bytes.length & 0xff, ...bytes);
}

function writeUint32(out: number[], value: number): void {
  out.push(value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff);
}

// Array.isArray does not narrow a readonly array away.
function isList(
  value: readonly AmfValue[] | { readonly [key: string]: AmfValue },
): value is readonly AmfValue[] {
  return Array.isArray(value);
}
