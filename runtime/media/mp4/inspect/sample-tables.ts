import { type Box, type Children, checkTable, Fields, Refusal, readTable, type Table } from './boxes.ts';
import type { SampleCursor } from './samples.ts';

/** The sample tables of a track (ISO/IEC 14496-12 8.6, 8.7): held against their boxes and against each other. */
export interface SampleTables {
  readonly label: string;
  /** Samples. */
  readonly count: number;
  /** Bytes of each, or 0: in `sizes`. */
  readonly size: number;
  readonly sizes: Table;
  /** Bits of a row of `sizes`. */
  readonly sizeBits: number;
  /** Rows: count, ticks. */
  readonly times: Table;
  /** Rows: count, signed ticks. */
  readonly shifts: Table | undefined;
  /** Rows: first chunk, samples of a chunk, sample entry. */
  readonly runs: Table;
  readonly chunks: Table;
  readonly isLong: boolean;
  /** Numbers of the samples at which a decoder can begin; undefined: all. */
  readonly syncs: Table | undefined;
}

/** @param options.entries how many sample entries there are */
export function readSampleTables(
  stbl: Children,
  options: { readonly label: string; readonly entries: number },
): SampleTables {
  const { label, entries } = options;
  const sizes = readSizes(stbl, label);
  const times = table(stbl.need('stts'), 8);
  const timed = sum(times);
  if (timed !== sizes.count)
    throw new Refusal(`${label} has ${sizes.count} samples, but its stts box has times for ${timed}`);
  const ctts = stbl.find('ctts');
  const shifts = ctts === undefined ? undefined : table(ctts, 8);
  if (shifts !== undefined && sum(shifts) > sizes.count)
    throw new Refusal(`${label} has ${sizes.count} samples, but its ctts box moves ${sum(shifts)}`);
  const runs = table(stbl.need('stsc'), 12);
  checkRuns(runs, { label, entries });
  const short = stbl.find('stco');
  const long = stbl.find('co64');
  const offsets = short ?? long;
  if (offsets === undefined) throw new Refusal(`${label} does not say where its samples are`);
  const chunks = table(offsets, offsets === long ? 8 : 4);
  const stss = stbl.find('stss');
  const syncs = stss === undefined ? undefined : table(stss, 4);
  checkSyncs(syncs, { label, samples: sizes.count });
  return { label, ...sizes, times, shifts, runs, chunks, isLong: offsets === long, syncs };
}

function table(box: Box, row: number): Table {
  const fields = new Fields(box);
  fields.full();
  return readTable(fields, { box, row });
}

/** Sample sizes, 8.7.3: in stsz with 32 bits, in stz2 with 4, 8 or 16. */
function readSizes(
  stbl: Children,
  label: string,
): Pick<SampleTables, 'count' | 'size' | 'sizes' | 'sizeBits'> {
  const stsz = stbl.find('stsz');
  const box = stsz ?? stbl.find('stz2');
  if (box === undefined) throw new Refusal(`${label} does not say how large its samples are`);
  const fields = new Fields(box);
  fields.full();
  const size = stsz === undefined ? 0 : fields.u32();
  const sizeBits = stsz === undefined ? fields.u32() & 255 : 32;
  const count = fields.u32();
  if (![4, 8, 16, 32].includes(sizeBits))
    throw new Refusal(`${label} has sizes of ${sizeBits} bits; expected 4, 8, 16 or 32`);
  // A size that all have takes no rows.
  const sizes = checkTable(fields, { box, row: size > 0 ? 0 : sizeBits / 8, count });
  return { count, size, sizes, sizeBits };
}

/** Sum of the first column. */
function sum({ view, at, count }: Table): number {
  let total = 0;
  for (let row = 0; row < count; row += 1) total += view.getUint32(at + row * 8);
  return total;
}

function checkRuns(runs: Table, { label, entries }: { label: string; entries: number }): void {
  let before = 0;
  for (let row = 0; row < runs.count; row += 1) {
    const at = runs.at + row * 12;
    const first = runs.view.getUint32(at);
    if (row === 0 ? first !== 1 : first <= before)
      throw new Refusal(`the stsc box of ${label} begins with chunk ${first} in entry ${row + 1}`);
    if (runs.view.getUint32(at + 4) === 0) throw new Refusal(`the stsc box of ${label} has empty chunks`);
    const entry = runs.view.getUint32(at + 8);
    if (entry < 1 || entry > entries)
      throw new Refusal(`the stsc box of ${label} names sample entry ${entry} of ${entries}`);
    before = first;
  }
}

function checkSyncs(syncs: Table | undefined, { label, samples }: { label: string; samples: number }): void {
  if (syncs === undefined || samples === 0) return;
  if (syncs.count === 0) throw new Refusal(`${label} has no key frame (its stss box is empty)`);
  let before = 0;
  for (let row = 0; row < syncs.count; row += 1) {
    const number = syncs.view.getUint32(syncs.at + row * 4);
    if (number <= before || number > samples)
      throw new Refusal(`the stss box of ${label} names sample ${number} of ${samples} after ${before}`);
    before = number;
  }
}

/** The samples of a track whose tables lie in the moov box. Nothing is expanded: it holds a place in each table. */
export class TableCursor implements SampleCursor {
  at = 0;
  size = 0;
  dts = 0;
  duration = 0;
  shift = 0;
  isSync = true;
  entry = 0;
  readonly #tables: SampleTables;
  #next = 0;
  #timeRow = 0;
  #timeLeft = 0;
  #shiftRow = 0;
  #shiftLeft = 0;
  #runRow = 0;
  #chunk = 0;
  #chunkLeft = 0;
  #syncRow = 0;

  constructor(tables: SampleTables) {
    this.#tables = tables;
  }

  next(): boolean {
    const number = this.#next;
    if (number >= this.#tables.count) return false;
    this.dts += this.duration;
    this.#time();
    this.#shift();
    this.#place(number);
    this.#sync(number + 1);
    this.#next = number + 1;
    return true;
  }

  #time(): void {
    const { view, at } = this.#tables.times;
    // The sum of the counts is the number of samples, so a row is there.
    while (this.#timeLeft === 0) {
      this.#timeLeft = view.getUint32(at + this.#timeRow * 8);
      this.duration = view.getUint32(at + this.#timeRow * 8 + 4);
      this.#timeRow += 1;
    }
    this.#timeLeft -= 1;
  }

  #shift(): void {
    const { shifts } = this.#tables;
    if (shifts === undefined) return;
    while (this.#shiftLeft === 0 && this.#shiftRow < shifts.count) {
      this.#shiftLeft = shifts.view.getUint32(shifts.at + this.#shiftRow * 8);
      // Signed in version 0 too: muxers that write more than 2^31 there mean that.
      this.shift = shifts.view.getInt32(shifts.at + this.#shiftRow * 8 + 4);
      this.#shiftRow += 1;
    }
    if (this.#shiftLeft === 0) this.shift = 0;
    else this.#shiftLeft -= 1;
  }

  #place(number: number): void {
    const { runs, chunks, isLong, label, count } = this.#tables;
    this.at += this.size;
    this.size = this.#sizeOf(number);
    if (this.#chunkLeft > 0) {
      this.#chunkLeft -= 1;
      return;
    }
    const chunk = this.#chunk;
    if (chunk >= chunks.count || runs.count === 0)
      throw new Refusal(`${label} has ${count} samples, but its chunks have room for ${number}`);
    if (this.#runRow < runs.count && runs.view.getUint32(runs.at + this.#runRow * 12) === chunk + 1)
      this.#runRow += 1;
    const run = runs.at + (this.#runRow - 1) * 12;
    this.#chunkLeft = runs.view.getUint32(run + 4) - 1;
    this.entry = runs.view.getUint32(run + 8);
    const at = chunks.at + chunk * (isLong ? 8 : 4);
    this.at = isLong
      ? chunks.view.getUint32(at) * 0x100000000 + chunks.view.getUint32(at + 4)
      : chunks.view.getUint32(at);
    this.#chunk = chunk + 1;
  }

  #sizeOf(number: number): number {
    const { size, sizes, sizeBits } = this.#tables;
    const { view, at } = sizes;
    if (size > 0) return size;
    if (sizeBits === 32) return view.getUint32(at + number * 4);
    if (sizeBits === 16) return view.getUint16(at + number * 2);
    if (sizeBits === 8) return view.getUint8(at + number);
    return (view.getUint8(at + (number >> 1)) >> (number % 2 === 0 ? 4 : 0)) & 15;
  }

  #sync(number: number): void {
    const { syncs } = this.#tables;
    if (syncs === undefined) return;
    this.isSync =
      this.#syncRow < syncs.count && syncs.view.getUint32(syncs.at + this.#syncRow * 4) === number;
    if (this.isSync) this.#syncRow += 1;
  }
}
