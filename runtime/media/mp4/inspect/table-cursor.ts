import { Refusal } from './refusal.ts';
import type { SampleTables } from './sample-tables.ts';
import type { SampleCursor } from './samples.ts';

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
      // Signed in version 0 too: whoever wrote more than 2^31 there meant that.
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
