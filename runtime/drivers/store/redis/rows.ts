import type { Place, ResourceWrite, StoredResource } from '../../../../core/ports/store.ts';

/** A row with what its index entries are made of. */
export interface IndexedRow {
  readonly row: StoredResource;
  readonly indexes: ReadonlyMap<string, string>;
}

/** What its index entries are made of (`lua/rows.lua`); empty for a deletion. */
export function headerOf({ account, createdAt, name, body, indexes }: ResourceWrite): string {
  if (body === null) return '';
  // Redis stores bytes; half a character is none, and the decoder of JSON in its scripts refuses it.
  const pairs = Object.entries(indexes).flat().map(wellFormed);
  return JSON.stringify([wellFormed(account), timeOf(createdAt), wellFormed(name), pairs]);
}

/** Reads `<revision>\n<header>\n<body>`. */
export function rowOf(id: string, stored: string): IndexedRow {
  const first = stored.indexOf('\n');
  const second = stored.indexOf('\n', first + 1);
  const header = JSON.parse(stored.slice(first + 1, second)) as [string, string, string, string[]];
  const [account, time, name, pairs] = header;
  const indexes = new Map<string, string>();
  for (let at = 0; at < pairs.length; at += 2) indexes.set(pairs[at] ?? '', pairs[at + 1] ?? '');
  const revision = Number(stored.slice(0, first));
  const row = { id, account, createdAt: Number(time), name, body: stored.slice(second + 1), revision };
  return { row, indexes };
}

/** 16 digits, so that their order is that of the times. */
export function timeOf(createdAt: number): string {
  const whole = Math.trunc(createdAt);
  return String(Math.min(Math.max(whole, 0) || 0, Number.MAX_SAFE_INTEGER)).padStart(timeLength, '0');
}

/** Ends in what sorts before all else, so that a name comes before those that begin with it. */
export function nameOf(name: string): string {
  return `${name.replaceAll('\u0001', '\u0001\u0002').replaceAll('\0', '\u0001\u0001')}\0`;
}

/** The place that a member of an index of this order names. */
export function placeOf(member: string, by: 'createdAt' | 'name' | 'id'): Place {
  if (by === 'id') return { createdAt: 0, id: member };
  const end = by === 'name' ? member.indexOf('\0') + 1 : 0;
  const id = member.slice(end + timeLength);
  const createdAt = Number(member.slice(end, end + timeLength));
  if (by === 'createdAt') return { createdAt, id };
  const name = member
    .slice(0, end - 1)
    .replaceAll('\u0001\u0001', '\0')
    .replaceAll('\u0001\u0002', '\u0001');
  return { createdAt, id, name };
}

/** Order of their UTF-8 bytes, without making them: only the halves of characters beyond 16 bits are out of place. */
export function compareBytes(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at += 1) {
    const [a, b] = [one.charCodeAt(at), other.charCodeAt(at)];
    if (a !== b) return inOrder(a) - inOrder(b);
  }
  return one.length - other.length;
}

function inOrder(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

function wellFormed(text: string): string {
  return text.toWellFormed();
}

/** Those of the largest time that is exact. */
const timeLength = 16;
