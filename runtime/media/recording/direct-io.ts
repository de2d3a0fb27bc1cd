import { readSync, writeSync } from 'node:fs';
import type { DirectDisk } from './direct-disk.ts';
import { fileIo, type OpenFile, type OpenFiles } from './open-files.ts';
import { type TakeIo, takeBlock } from './take-file.ts';

export interface DirectIoOptions {
  readonly files: OpenFiles;
  readonly disk: DirectDisk;
  /** Mean bytes of a write from which on they go past the cache. */
  readonly least: number;
}

/**
 * A file of `files` to which is added past the cache of the system, in whole blocks. The last one is filled up with zeros, and
 * written again with what comes behind. So each write is on disk before its call ends, in order. Small writes, what changes
 * in the middle, and all of it where the disk wants it so, go the ordinary way: the system keeps both ways together.
 */
export class DirectIo implements TakeIo {
  readonly #path: string;
  readonly #options: DirectIoOptions;
  readonly #plain: TakeIo;
  #size: number | undefined;
  /** Something may lie behind `#size`. */
  #isLoose = false;
  /** Below it something may be in the cache of the system and not yet on disk. */
  #cached = 0;
  /** Bytes of a write, the newest counting most. */
  #mean: number | undefined;
  #isLarge = false;

  constructor(path: string, options: DirectIoOptions) {
    this.#path = path;
    this.#options = options;
    this.#plain = fileIo(options.files, path);
  }

  get size(): number {
    if (this.#size === undefined) {
      this.#size = this.#plain.size;
      this.#cached = this.#size;
    }
    return this.#size;
  }

  read(at: number, into: Uint8Array): number {
    return this.#plain.read(at, into.subarray(0, Math.max(0, this.size - at)));
  }

  readOnce(at: number, into: Uint8Array): number {
    const isOnBlock = at % takeBlock === 0 && into.byteOffset % takeBlock === 0;
    const wanted = Math.min(into.length, Math.max(0, this.size - at));
    const blocks = wanted - (wanted % takeBlock);
    let done = 0;
    if (isOnBlock && blocks > 0 && at >= this.#cached && this.#options.disk.isOn) {
      const { disk } = this.#options;
      done = disk.ask(() => readSync(this.#direct.fd, into, 0, blocks, at)) ?? 0;
    }
    return done + (done < wanted ? this.#plain.read(at + done, into.subarray(done, wanted)) : 0);
  }

  write(at: number, bytes: Uint8Array): void {
    const end = at + bytes.length;
    const isAdded = at === this.size;
    if (isAdded) this.#weigh(bytes.length);
    this.#isLoose = true;
    if (isAdded && this.#isLarge && this.#options.disk.isOn && this.#options.disk.ask(() => this.#add(bytes)))
      return;
    this.#changed();
    this.#plain.write(at, bytes);
    if (end <= this.size) return;
    this.#size = this.#cached = end;
  }

  truncate(size: number): void {
    this.#changed();
    this.#plain.truncate(size);
    this.#size = size;
    this.#cached = Math.min(this.#cached, size);
    this.#isLoose = false;
  }

  settle(): void {
    if (this.#isLoose) this.truncate(this.size);
  }

  close(): void {
    try {
      this.settle();
    } catch {
      // Zeros are left behind it, and who finds it knows them.
    }
    this.#options.files.close(this.#path);
    this.#size = undefined;
    this.#isLoose = false;
  }

  /** All of it, behind what there is. */
  #add(bytes: Uint8Array): true {
    const { room } = this.#options.disk;
    let held = this.size % takeBlock;
    let from = this.size - held;
    if (held > 0) this.#loadTail(from, held);
    for (let done = 0; done < bytes.length; ) {
      const count = Math.min(bytes.length - done, room.length - held);
      room.set(bytes.subarray(done, done + count), held);
      done += count;
      const filled = held + count;
      held = filled % takeBlock;
      const whole = filled - held;
      const padded = held > 0 ? whole + takeBlock : whole;
      room.fill(0, filled, padded);
      this.#writeBlocks(from, room.subarray(0, padded));
      from += whole;
      room.copyWithin(0, whole, filled);
    }
    this.#size = from + held;
    const file = this.#direct;
    file.tail ??= new Uint8Array(takeBlock);
    file.tail.set(room.subarray(0, held));
    return true;
  }

  /** Into the room, from the block that begins at `from`. */
  #loadTail(from: number, held: number): void {
    const { room } = this.#options.disk;
    const { fd, tail } = this.#direct;
    if (tail) {
      room.set(tail.subarray(0, held));
      return;
    }
    const count = readSync(fd, room, 0, takeBlock, from);
    if (count < held) throw new Error(`the file of a take ends at ${from + count}, before ${from + held}`);
  }

  #writeBlocks(from: number, blocks: Uint8Array): void {
    const { fd } = this.#direct;
    for (let done = 0; done < blocks.length; ) {
      const count = writeSync(fd, blocks, done, blocks.length - done, from + done);
      done += count - (count % takeBlock);
      if (count > 0 && count % takeBlock === 0) continue;
      // A disk that is nearly full takes less than it was given: the ordinary way takes the rest, or says why not.
      this.#plain.write(from + done, blocks.subarray(done));
      this.#cached = from + blocks.length;
      return;
    }
  }

  /** The last block is not what it was. */
  #changed(): void {
    this.#options.files.forgetTail(this.#path);
  }

  get #direct(): OpenFile {
    return this.#options.files.get(this.#path, { isDirect: true });
  }

  /** What is added little by little costs less the ordinary way: many writes become one. */
  #weigh(bytes: number): void {
    const { least } = this.#options;
    this.#mean = this.#mean === undefined ? bytes : this.#mean + (bytes - this.#mean) / 8;
    this.#isLarge = this.#mean >= (this.#isLarge ? least / 2 : least);
  }
}
