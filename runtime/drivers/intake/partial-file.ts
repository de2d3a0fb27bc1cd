import { link, rm } from 'node:fs/promises';
import { Fault } from '../../../core/base/fault.ts';
import type { AppendOptions, NewPartialFile, PartialFile, ReceivedFile } from '../../../core/ports/intake.ts';
import type { Hashes } from './protocol.ts';
import { type Destination, Receiving, type Shared } from './receiving.ts';
import type { FileEars } from './writer.ts';

/** A file that comes in several pieces, each of which is a `Receiving` of its own. */
export class OwnPartialFile implements PartialFile {
  readonly id: string;
  readonly size: number;
  readonly expires: number;
  readonly note: Readonly<Record<string, string>>;
  offset: number;
  readonly #shared: PartialShared;
  readonly #paths: Paths;
  readonly #onRemoved: () => void;
  /** What the writing thread knows it by, until one of them ends. */
  #known: number | undefined;
  #hashes: Promise<Hashes> | undefined;
  #isInUse = false;
  #isGone = false;

  /** @param options.offset bytes that are on disk */
  constructor(
    file: NewPartialFile,
    options: { offset: number; paths: Paths; shared: PartialShared; onRemoved(): void },
  ) {
    this.id = file.id;
    this.size = file.size;
    this.expires = file.expires;
    this.note = file.note;
    this.offset = options.offset;
    this.#paths = options.paths;
    this.#shared = options.shared;
    this.#onRemoved = options.onRemoved;
  }

  async append(body: ReadableStream<Uint8Array> | null, given: AppendOptions): Promise<number> {
    given.signal.throwIfAborted();
    this.#use();
    const { onBytes, ...rest } = given;
    const from = this.offset;
    const options = { ...rest, ...(onBytes && { onBytes: (count: number) => onBytes(from + count) }) };
    let hasFailed = false;
    const to: Destination<number> = {
      ...{ base: from, most: this.size - from },
      tooMuch: () => beyond(this.size),
      begin: (ears) => {
        const failed = (error: Fault) => {
          hasFailed = true;
          ears.failed(error);
        };
        return this.#open({ ...ears, failed });
      },
      end: (id) => this.#shared.writer.pause(id),
      breakOff: (id) => this.#shared.writer.pause(id),
      outcome: () => this.offset,
    };
    const receiving = new Receiving(to, { shared: this.#shared, given: options });
    try {
      return await this.#shared.track(receiving, body);
    } finally {
      receiving.release();
      // It goes on from what is on disk for certain: whatever failed, that much is whole.
      if (hasFailed) await this.#leave();
      this.#isInUse = false;
    }
  }

  async received(): Promise<ReceivedFile> {
    if (this.offset < this.size) throw new RangeError(`${this.size - this.offset} bytes are missing`);
    this.#hashes ??= this.#hash().catch((error: unknown) => {
      this.#hashes = undefined;
      throw error;
    });
    const hashes = await this.#hashes;
    // A store on another disk needs room for all of it.
    const claim = await this.#shared.room.claim(0, { before: this.size });
    const path = this.#paths.another();
    const isLinked = await link(this.#paths.file, path).then(
      () => true,
      () => false,
    );
    const discard = async () => {
      claim.release();
      if (isLinked) await rm(path, { force: true }).catch(() => {});
    };
    // Where the disk has no second names it is adopted itself: only a process that dies right then has the client begin anew.
    return { path: isLinked ? path : this.#paths.file, size: this.size, ...hashes, discard };
  }

  async remove(): Promise<void> {
    if (this.#isGone) return;
    this.#use();
    this.#isGone = true;
    this.#onRemoved();
    await this.#leave();
    // The mark first: what is left without one the next start removes.
    for (const path of [this.#paths.mark, this.#paths.file]) await rm(path, { force: true }).catch(() => {});
  }

  async #hash(): Promise<Hashes> {
    this.#use();
    const { promise, resolve, reject } = Promise.withResolvers<Hashes>();
    try {
      const id = this.#open({ written() {}, dropped() {}, done: resolve, failed: reject });
      this.#shared.writer.hash(id);
      return await promise;
    } catch (error) {
      await this.#leave();
      throw error;
    } finally {
      if (this.#known !== undefined) this.#shared.writer.forget(this.#known);
      this.#isInUse = false;
    }
  }

  #open(ears: FileEars): number {
    const { writer, limits } = this.#shared;
    const { file: path, mark } = this.#paths;
    const { sync, rehash } = limits;
    const marked = (bytes: number) => {
      this.offset = bytes;
    };
    this.#known = writer.open(
      { path, mark, at: this.offset, sync, rehash },
      { ears: { ...ears, marked }, former: this.#known },
    );
    return this.#known;
  }

  async #leave(): Promise<void> {
    const id = this.#known;
    this.#known = undefined;
    if (id !== undefined) await this.#shared.writer.leave(id);
  }

  /** Who uses it sees to it that nobody else does: two at a time would mix their bytes. */
  #use(): void {
    if (this.#isGone) throw new Error(`partial file ${this.id} was removed`);
    if (this.#isInUse) throw new Error(`partial file ${this.id} is in use`);
    this.#isInUse = true;
  }
}

export interface PartialShared extends Shared {
  /** Runs it, as one of those that the end of the program ends. */
  track<T>(receiving: Receiving<T>, body: ReadableStream<Uint8Array> | null): Promise<T>;
}

/** Where it lies. */
export interface Paths {
  readonly file: string;
  readonly mark: string;
  /** A new name of a file that is no partial one. */
  another(): string;
}

export function beyond(size: number): Fault {
  const message = `More was sent than the ${size} bytes that the file was said to have.`;
  return new Fault('intake.beyond', { status: 413, message });
}
