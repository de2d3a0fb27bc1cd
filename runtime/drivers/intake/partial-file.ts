import { link, rm } from 'node:fs/promises';
import { Fault } from '../../../core/base/fault.ts';
import type { AppendOptions, NewPartialFile, PartialFile, ReceivedFile } from '../../../core/ports/intake.ts';
import type { Hashes } from './protocol.ts';
import { Receiving, type Shared } from './receiving.ts';

/** A file that comes in several pieces, each of which is a `Receiving` of its own. */
export class OwnPartialFile implements PartialFile {
  readonly id: string;
  readonly size: number;
  readonly expires: number;
  readonly note: Readonly<Record<string, string>>;
  offset: number;
  readonly #shared: Shared;
  readonly #paths: Paths;
  readonly #onRemoved: () => void;
  #hashes: Promise<Hashes> | undefined;
  #isInUse = false;
  #isGone = false;

  /** @param options.offset bytes that are on disk */
  constructor(
    file: NewPartialFile,
    options: { offset: number; paths: Paths; shared: Shared; onRemoved(): void },
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

  append(body: ReadableStream<Uint8Array> | null, given: AppendOptions): Promise<number> {
    return this.#alone(async () => {
      given.signal.throwIfAborted();
      const { file: path, mark } = this.#paths;
      const from = this.offset;
      const onBytes = (count: number) => given.onBytes?.(from + count);
      const marked = (bytes: number) => {
        this.offset = bytes;
      };
      const target = {
        path,
        mark,
        marked,
        base: from,
        most: this.size - from,
        tooMuch: () => beyond(this.size),
      };
      const receiving = new Receiving(target, { shared: this.#shared, given: { ...given, onBytes } });
      await this.#shared.run(receiving, body).finally(() => receiving.release());
      return this.offset;
    });
  }

  async received(): Promise<ReceivedFile> {
    const { size } = this;
    if (this.offset < size) throw new RangeError(`${size - this.offset} bytes are missing`);
    const { writer, room } = this.#shared;
    const { file, another } = this.#paths;
    this.#hashes ??= this.#alone(() => writer.hash({ path: file, size })).catch((error: unknown) => {
      this.#hashes = undefined;
      throw error;
    });
    const hashes = await this.#hashes;
    // A store on another disk needs room for all of it.
    const claim = await room.claim(0, { before: size });
    const path = another();
    const isLinked = await link(file, path).then(
      () => true,
      () => false,
    );
    const discard = async () => {
      claim.release();
      if (isLinked) await rm(path, { force: true }).catch(() => {});
    };
    // Where the disk has no second names it is adopted itself: only a process that dies right then has the client begin anew.
    return { path: isLinked ? path : file, size, ...hashes, discard };
  }

  async remove(): Promise<void> {
    if (this.#isGone) return;
    const { file, mark } = this.#paths;
    await this.#alone(async () => {
      this.#isGone = true;
      this.#onRemoved();
      this.#shared.writer.forget(file);
      // The mark first: what is left without one the next start removes.
      for (const path of [mark, file]) await rm(path, { force: true }).catch(() => {});
    });
  }

  /** Two at a time would mix their bytes. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isGone) throw new Error(`partial file ${this.id} was removed`);
    if (this.#isInUse) throw new Error(`partial file ${this.id} is in use`);
    this.#isInUse = true;
    try {
      return await work();
    } finally {
      this.#isInUse = false;
    }
  }
}

/** Where it lies. */
export interface Paths {
  readonly file: string;
  readonly mark: string;
  /** A new name of a file that is no partial one. */
  another(): string;
}

function beyond(size: number): Fault {
  const message = `More was sent than the ${size} bytes that the file was said to have.`;
  return new Fault('intake.beyond', { status: 413, message });
}
