import { link, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../../../core/base/fault.ts';
import { uuid } from '../../../core/base/ids.ts';
import type {
  AppendOptions,
  NewPartialFile,
  PartialFile,
  PartialFiles,
  ReceivedFile,
} from '../../../core/ports/intake.ts';
import { synced, writeWhole } from '../../base/disk.ts';
import { type Hashes, markDigits, markText } from './protocol.ts';
import { Receiving, type Shared } from './receiving.ts';
import { faultOf } from './writer.ts';

/**
 * The partial files of a folder: `<id>.part` with `<id>.mark` beside it. A file without its mark does not count.
 * `another`: the ending of complete files.
 */
export function partialFiles(options: {
  readonly folder: string;
  readonly another: string;
  readonly shared: Shared;
}): OpenedPartialFiles {
  const { folder, another, shared } = options;
  const kept = new Map<string, PartialFile>();
  const pathsOf = (id: string): Paths => ({
    file: join(folder, `${id}.part`),
    mark: join(folder, `${id}.mark`),
    another: () => join(folder, `${uuid()}${another}`),
  });

  const known = (file: NewPartialFile, offset: number): PartialFile => {
    const onRemoved = () => void kept.delete(file.id);
    const one = new OwnPartialFile(file, { offset, paths: pathsOf(file.id), shared, onRemoved });
    kept.set(file.id, one);
    return one;
  };

  /** Finds a partial file of a former process, if it is usable. */
  const find = async (id: string): Promise<void> => {
    const paths = pathsOf(id);
    const facts = readMark(await readFile(paths.mark, 'utf8'));
    if (!facts || shared.clock.now() >= facts.expires) return;
    const { marked, ...file } = facts;
    // Bytes after the mark may be damaged; the next append cuts them.
    const { size } = await stat(paths.file);
    if (size >= marked) known({ id, ...file }, marked);
  };

  return {
    async open() {
      kept.clear();
      const names = await readdir(folder);
      for (const name of names) {
        const id = /^([0-9a-z-]+)\.mark$/.exec(name)?.[1];
        if (id !== undefined) await find(id).catch(() => {});
      }
      const strays = names.filter((name) => {
        const [id, ending] = name.split('.');
        return (ending === 'part' || ending === 'mark') && !kept.has(id);
      });
      const sizes: number[] = [];
      for (const name of strays) {
        const path = join(folder, name);
        sizes.push((await stat(path)).size);
        await rm(path, { force: true });
      }
      return sizes;
    },
    async begin(file) {
      const { id, size, expires, note } = file;
      if (!/^[0-9a-z-]+$/.test(id)) throw new RangeError(`${JSON.stringify(id)} is no id of a partial file`);
      if (kept.has(id)) throw new RangeError(`there is a partial file ${id} already`);
      await shared.room.check(0);
      const paths = pathsOf(id);
      const text = `${markText(0)}\n${JSON.stringify({ size, expires, note })}\n`;
      try {
        await synced(paths.file, { flags: 'wx', mode });
        // The mark last and in one step: it makes the partial file exist.
        await writeWhole(folder, { name: `${id}.mark`, mode, bytes: Buffer.from(text) });
      } catch (error) {
        for (const path of [paths.mark, `${paths.mark}.new`, paths.file])
          await rm(path, { force: true }).catch(() => {});
        throw faultOf(error as Error);
      }
      return known(file, 0);
    },
    find: (id) => kept.get(id),
    list: () => [...kept.values()],
  };
}

export interface OpenedPartialFiles extends PartialFiles {
  /** Finds the files of former processes, and removes unusable ones. Returns the size of each removed file. */
  open(): Promise<readonly number[]>;
}

/** Nobody else on the machine may read an upload. */
const mode = 0o600;

/**
 * Reads a mark: a line with the number of bytes that are certainly on disk, then the facts about the file as JSON. Undefined: it is
 * not a mark, or it is incomplete.
 */
function readMark(text: string): (Omit<NewPartialFile, 'id'> & { readonly marked: number }) | undefined {
  const [mark, json, ...rest] = text.split('\n');
  if (!new RegExp(`^\\d{${markDigits}}$`).test(mark) || rest.length !== 1) return undefined;
  const { size, expires, note } = JSON.parse(json) as NewPartialFile;
  const marked = Number(mark);
  return marked <= size ? { size, expires, note, marked } : undefined;
}

/** A file that is received in several requests. Each of them is a `Receiving`. */
class OwnPartialFile implements PartialFile {
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
        ...(given.skip !== undefined && { skip: given.skip }),
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
    // If the blobs are on another disk, it needs room for the whole file.
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
    // Without hard links the file itself is adopted. Only if the process dies at this moment, the client must start again.
    return { path: isLinked ? path : file, size, ...hashes, discard };
  }

  async remove(): Promise<void> {
    if (this.#isGone) return;
    const { file, mark } = this.#paths;
    await this.#alone(async () => {
      this.#isGone = true;
      this.#onRemoved();
      this.#shared.writer.forget(file);
      // The mark first: the next start removes a file without one.
      for (const path of [mark, file]) await rm(path, { force: true }).catch(() => {});
    });
  }

  /** Two writers would mix their bytes. */
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

/** Paths of a partial file. */
interface Paths {
  readonly file: string;
  readonly mark: string;
  /** A new name for the complete file. */
  another(): string;
}

function beyond(size: number): Fault {
  const message = `More was sent than the ${size} bytes that the file was said to have.`;
  return new Fault('intake.beyond', { status: 413, message });
}
