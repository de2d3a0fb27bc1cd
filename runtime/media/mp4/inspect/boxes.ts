import type { ForeignFilm } from '../../../../core/ports/inspector.ts';

/** Most boxes in one box. */
const maxChildren = 10_000;

/**
 * The file is not what it should be. The message follows "the file was refused: " and says what is wrong and what was expected.
 * `inspectFile` turns it into a value.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

/** A film in another container or with other codecs: a converter may be able to read it. */
export class ForeignRefusal extends Refusal {
  readonly foreign: ForeignFilm;

  constructor(message: string, foreign: ForeignFilm) {
    super(message);
    this.foreign = foreign;
  }
}

/** A box (ISO/IEC 14496-12 4.2) that lies in memory as a whole. */
export interface Box {
  readonly type: string;
  readonly view: DataView;
  /** Its payload: bytes `from` up to `to` of the view. */
  readonly from: number;
  readonly to: number;
}

/** The boxes directly inside a box. Deeper levels are only read when asked for, so deep nesting costs nothing. */
export class Children {
  readonly #parent: string;
  readonly all: readonly Box[];

  constructor(parent: Box, skip = 0) {
    this.#parent = parent.type;
    this.all = boxesIn(parent, skip);
  }

  /** Undefined if there is none. Several are refused, since players would disagree which one counts. */
  find(type: string): Box | undefined {
    const found = this.all.filter((box) => box.type === type);
    if (found.length > 1)
      throw new Refusal(`its ${this.#parent} box has ${found.length} ${type} boxes; expected one`);
    return found[0];
  }

  need(type: string): Box {
    const box = this.find(type);
    if (box === undefined) throw new Refusal(`its ${this.#parent} box has no ${type} box`);
    return box;
  }
}

function boxesIn(parent: Box, skip: number): Box[] {
  const { view, to } = parent;
  const boxes: Box[] = [];
  let at = parent.from + skip;
  // Fewer bytes than a header are padding, as in QuickTime's udta.
  while (at + 8 <= to) {
    const type = typeAt(view, at + 4);
    let size = view.getUint32(at);
    let header = 8;
    if (size === 0) size = to - at;
    if (size === 1 && at + 16 <= to) {
      size = view.getUint32(at + 8) * 0x100000000 + view.getUint32(at + 12);
      header = 16;
    }
    if (size < header || at + size > to)
      throw new Refusal(
        `the ${type} box in its ${parent.type} box claims ${size} bytes, but only ${to - at} are left`,
      );
    if (boxes.length >= maxChildren)
      throw new Refusal(`its ${parent.type} box contains more than ${maxChildren} boxes`);
    boxes.push({ type, view, from: at + header, to: at + size });
    at += size;
  }
  return boxes;
}

/** Four characters; unprintable ones are escaped. */
export function typeAt(view: DataView, at: number): string {
  let type = '';
  for (let i = 0; i < 4; i += 1) {
    const code = view.getUint8(at + i);
    type +=
      code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : `\\x${code.toString(16).padStart(2, '0')}`;
  }
  return type;
}

/** Reads the fields of a box in order. Reading past its end throws Refusal. */
export class Fields {
  readonly #box: Box;
  #at: number;

  constructor(box: Box) {
    this.#box = box;
    this.#at = box.from;
  }

  get at(): number {
    return this.#at;
  }

  get left(): number {
    return this.#box.to - this.#at;
  }

  skip(count: number): void {
    if (count > this.left) throw new Refusal(`its ${this.#box.type} box is cut short`);
    this.#at += count;
  }

  u8(): number {
    return this.#box.view.getUint8(this.#take(1));
  }

  u16(): number {
    return this.#box.view.getUint16(this.#take(2));
  }

  u32(): number {
    return this.#box.view.getUint32(this.#take(4));
  }

  i32(): number {
    return this.#box.view.getInt32(this.#take(4));
  }

  /** Exact up to 2^53, which is beyond every limit. */
  u64(): number {
    const high = this.u32();
    return high * 0x100000000 + this.u32();
  }

  i64(): number {
    const high = this.i32();
    return high * 0x100000000 + this.u32();
  }

  type(): string {
    return typeAt(this.#box.view, this.#take(4));
  }

  /** Version and flags of a full box. */
  full(): { version: number; flags: number } {
    const word = this.u32();
    return { version: word >>> 24, flags: word & 0xffffff };
  }

  bytes(count: number): Uint8Array {
    const at = this.#take(count);
    return new Uint8Array(this.#box.view.buffer, this.#box.view.byteOffset + at, count);
  }

  #take(count: number): number {
    const at = this.#at;
    this.skip(count);
    return at;
  }
}

/** Rows of numbers in a box. `count` was checked against the size of the box. */
export interface Table {
  readonly view: DataView;
  /** Of the first row. */
  readonly at: number;
  readonly count: number;
}

/** The rest of a box: a count, then rows of `row` bytes. */
export function readTable(fields: Fields, options: { readonly box: Box; readonly row: number }): Table {
  const { box, row } = options;
  return checkTable(fields, { box, row, count: fields.u32() });
}

/** The same with a count that was read before. */
export function checkTable(fields: Fields, options: { box: Box; row: number; count: number }): Table {
  const { box, row, count } = options;
  if (count * row > fields.left)
    throw new Refusal(
      `its ${box.type} box claims ${count} entries, but has room for ${Math.floor(fields.left / row)}`,
    );
  return { view: box.view, at: fields.at, count };
}

/** Puts another number in place of each chunk offset (ISO/IEC 14496-12 8.7.5) of all tracks. Throws Refusal. */
export function mapChunkOffsets(moov: Box, change: (offset: number, isLong: boolean) => number): void {
  let boxes = [moov];
  for (const type of ['trak', 'mdia', 'minf', 'stbl'])
    boxes = boxes.flatMap((box) => new Children(box).all.filter((child) => child.type === type));
  for (const box of boxes.flatMap((stbl) => new Children(stbl).all)) {
    const isLong = box.type === 'co64';
    if (!isLong && box.type !== 'stco') continue;
    const fields = new Fields(box);
    fields.full();
    const row = isLong ? 8 : 4;
    const { view, at: first, count } = readTable(fields, { box, row });
    for (let at = first; at < first + count * row; at += row) {
      const offset = isLong ? view.getUint32(at) * 2 ** 32 + view.getUint32(at + 4) : view.getUint32(at);
      const changed = change(offset, isLong);
      if (isLong) view.setUint32(at, Math.floor(changed / 2 ** 32));
      view.setUint32(isLong ? at + 4 : at, changed % 2 ** 32);
    }
  }
}
