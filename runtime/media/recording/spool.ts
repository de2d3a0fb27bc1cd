import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../../../core/ports/clock.ts';
import { readSegmentIndex } from '../../../core/segment-index.ts';
import type { FedInit, FedPart } from './feed.ts';
import { besideSource } from './file/beside-source.ts';
import { joinMark } from './found-takes.ts';
import type { FreeSpace } from './free-space.ts';
import type { Hashable } from './hash-turns.ts';
import type { RecorderLimits } from './limits.ts';
import type { Md5, Md5State } from './md5/md5.ts';
import type { OpenFiles } from './open-files.ts';
import type { TakeNote } from './protocol.ts';
import { inTurns, type Steps, turn } from './steps.ts';
import type { FinishedFile, TakeFile, TakeIo } from './take-file.ts';
import { TakeHash } from './take-hash.ts';
import { metaBytes, type SealedTake, spoolFiles, type TakeMeta, writeWhole } from './take-meta.ts';
import { type GapReason, reasonOf, troubleOf, troubles } from './trouble.ts';
import { rowsOf } from './written.ts';

/** What the takes of a node have together. */
export interface SpoolSurroundings {
  readonly clock: Clock;
  readonly limits: RecorderLimits;
  readonly files: OpenFiles;
  readonly space: FreeSpace;
  openTakeFile(io: TakeIo): Steps<TakeFile>;
  /** One after the other: while a file is completed its index is in memory. */
  finishing<T>(work: () => Promise<T>): Promise<T>;
  io(path: string): TakeIo;
  log(message: string, fields: Readonly<Record<string, unknown>>): void;
}

/**
 * One take on disk. What cannot be written is missing as a whole, up to a key frame, and is counted; the next try comes
 * by itself. Nothing here throws but `seal`, `save` and `sync`.
 */
export class Spool implements Hashable {
  readonly take: number;
  readonly #folder: string;
  readonly #around: SpoolSurroundings;
  #meta: TakeMeta;
  #isMade: boolean;
  #file: TakeFile | undefined;
  /** The look through a file that is there. */
  #opening: Steps<TakeFile> | undefined;
  readonly #io: TakeIo;
  #hash = new TakeHash();
  #init: FedInit | undefined;
  /** `#init` is in the file, and nothing is missing behind it. */
  #isPlaced = false;
  #isInGap = false;
  #mustPause = false;
  #trouble: string | undefined;
  #retryAt = Number.NEGATIVE_INFINITY;
  #writtenAt = 0;
  #durable = 0;
  #bytes = 0;
  #isDirty = false;
  /** Of gaps that were not told yet. */
  #reasons: GapReason[] = [];
  #mustSave = false;
  #saved: Promise<void> = Promise.resolve();
  #syncing: Promise<void> = Promise.resolve();
  #isOver = false;
  #isSealing = false;
  #told = { inits: 0, segments: 0 };

  constructor(
    options: { take: number; meta: TakeMeta; isMade: boolean; folder: string },
    around: SpoolSurroundings,
  ) {
    this.take = options.take;
    this.#meta = options.meta;
    this.#isMade = options.isMade;
    this.#folder = options.folder;
    this.#around = around;
    this.#io = around.io(this.#path);
  }

  get #path(): string {
    return join(this.#folder, spoolFiles.video);
  }

  /** For the log. */
  get #name(): { sessionId: string; rendition?: string } {
    const { sessionId, rendition } = this.#meta;
    return { sessionId, ...(rendition && { rendition: rendition.name }) };
  }

  begin(init: FedInit): void {
    this.#init = init;
    this.#isPlaced = false;
    this.#isInGap = false;
  }

  part(bytes: Uint8Array, part: FedPart): void {
    const now = this.#around.clock.now();
    if (this.#isEnding || !this.#init) return;
    if (this.#isInGap && (!part.isIndependent || now < this.#retryAt)) return;
    const trouble = this.#refusal(bytes.length);
    if (trouble !== undefined) {
      this.#miss(trouble);
      return;
    }
    try {
      const file = this.#opened();
      this.#pause(file);
      if (!this.#isPlaced && this.#isCrowded(file, this.#init)) {
        this.#miss(troubles.changes);
        return;
      }
      if (!this.#isPlaced) file.begin(this.#init);
      file.part(bytes, this.#isPlaced ? part : { ...part, startsSegment: true });
      this.#around.space.wrote(bytes.length);
    } catch (error) {
      this.#miss(troubleOf(error), error);
      return;
    }
    this.#isPlaced = true;
    this.#isInGap = false;
    this.#trouble = undefined;
    this.#isDirty = true;
    this.#writtenAt = now;
  }

  /** Parts are missing that did not come here. */
  gap(reason: GapReason): void {
    this.#skip(reason);
  }

  /** The publish is over. */
  end(): void {
    this.#init = undefined;
    this.#isInGap = false;
    this.#halt();
  }

  /** Why nothing can be written now. */
  #refusal(size: number): string | undefined {
    const { limits, space } = this.#around;
    if ((this.#file?.size ?? 0) + size > limits.takeBytes) return troubles.large;
    try {
      if (!space.isLowFor(this.#meta.rendition ? 'rendition' : 'source')) return undefined;
      return this.#isMade ? troubles.low : troubles.lowFirst;
    } catch (error) {
      return troubleOf(error);
    }
  }

  /** It has had so many inits, and this is another. What is joined has those of its parts. */
  #isCrowded(file: TakeFile, init: FedInit): boolean {
    if (file.inits.length < this.#around.limits.inits || this.#meta.sessionId.startsWith(joinMark))
      return false;
    return !file.has(init);
  }

  #miss(trouble: string, error?: unknown): void {
    if (trouble !== this.#trouble) {
      this.#around.log('a recording cannot be written', { ...this.#name, trouble, ...told(error) });
    }
    this.#trouble = trouble;
    this.#retryAt = this.#around.clock.now() + this.#around.limits.retry;
    this.#skip(reasonOf(trouble));
  }

  #skip(reason: GapReason): void {
    if (!this.#isInGap) {
      this.#reasons.push(reason);
      this.#meta = { ...this.#meta, gaps: this.#meta.gaps + 1 };
      this.#mustSave = true;
    }
    this.#isInGap = true;
    this.#halt();
  }

  /** The open segment is whole; what follows begins with an init. */
  #halt(): void {
    this.#isPlaced = false;
    this.#mustPause = this.#file !== undefined;
    try {
      if (this.#file) this.#pause(this.#file);
    } catch {
      // The next part tries again, and says what is wrong.
    }
  }

  #pause(file: TakeFile): void {
    if (!this.#mustPause) return;
    file.pause();
    this.#mustPause = false;
    this.#isDirty = true;
  }

  #opened(): TakeFile {
    for (;;) {
      const file = this.#open();
      if (file) return file;
    }
  }

  /** Its file; undefined: a long one that is there was looked through a little further. */
  #open(): TakeFile | undefined {
    if (this.#file) return this.#file;
    if (!this.#isMade) this.#make();
    this.#opening ??= this.#around.openTakeFile(this.#io);
    const opening = this.#opening;
    // What throws begins anew.
    this.#opening = undefined;
    const step = opening.next();
    if (!step.done) {
      this.#opening = opening;
      return undefined;
    }
    this.#file = step.value;
    const { cut } = this.#file;
    if (cut) this.#around.log('the torn end of a recording was cut off', { ...this.#name, ...cut });
    // What a former process wrote may not be on disk.
    this.#isDirty = this.#file.size > 0;
    return this.#file;
  }

  /** First `take.json`, so that no file is ever without one. */
  #make(): void {
    mkdirSync(this.#folder, { recursive: true });
    const path = join(this.#folder, spoolFiles.meta);
    writeFileSync(`${path}.new`, this.#bytesOf(this.#meta), { mode: 0o640 });
    renameSync(`${path}.new`, path);
    this.#isMade = true;
    this.#mustSave = true;
  }

  get #isEnding(): boolean {
    return this.#meta.isEnding === true;
  }

  /** Something of it is not hashed that will never change again, and it can be read as far as is known. */
  get isHashable(): boolean {
    if (this.#meta.sealed || this.#isEnding || this.#around.clock.now() < this.#retryAt) return false;
    if (!this.#file) return this.#isMade;
    return this.unhashed > 0;
  }

  get isOpen(): boolean {
    return this.#file !== undefined;
  }

  lookThrough(): void {
    this.#tryToRead(() => this.#open());
  }

  get unhashed(): number {
    return this.#file ? this.#hash.dueOnDisk(this.#file.sealed) : 0;
  }

  readUnhashed(into: Uint8Array): Md5State | undefined {
    return this.#tryToRead(() => {
      this.#hash.read(this.#io, into);
      return this.#hash.md5;
    });
  }

  #tryToRead<T>(read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      this.#retryAt = this.#around.clock.now() + this.#around.limits.retry;
      this.#around.log('a recording cannot be read', { ...this.#name, ...told(error) });
      return undefined;
    }
  }

  get needsSync(): boolean {
    // `seal` syncs what it writes, when it is whole.
    return !this.#isOver && !this.#isSealing && (this.#isDirty || this.#mustSave);
  }

  /** Brings what is written to the disk. */
  sync(): Promise<void> {
    this.#syncing = this.#sync();
    return this.#syncing;
  }

  async #sync(): Promise<void> {
    if (this.#mustSave && this.#isMade) await this.save({});
    if (!this.#isDirty || !this.#file) return;
    const { sealed } = this.#file;
    this.#isDirty = false;
    try {
      await this.#around.files.sync(this.#path);
      this.#durable = sealed;
    } catch (error) {
      // What the disk has of it is not known any more: it is read again for the hash, and what comes is set apart by a gap.
      this.#isDirty = true;
      this.#hash = new TakeHash();
      this.#miss(troubleOf(error), error);
    }
  }

  #bytesOf(meta: TakeMeta): Uint8Array {
    return metaBytes(meta, { most: this.#around.limits.metaBytes });
  }

  /** Changes `take.json`. On disk when it resolves. */
  async save(fields: { [Name in keyof TakeMeta]?: TakeMeta[Name] | null }): Promise<void> {
    const meta: Record<string, unknown> = { ...this.#meta, ...fields };
    for (const name of Object.keys(meta)) if (meta[name] === null) delete meta[name];
    const changed = meta as unknown as TakeMeta;
    // What is too large changes nothing.
    this.#bytesOf(changed);
    this.#meta = changed;
    this.#mustSave = false;
    const saved = this.#saved
      .catch(() => {})
      .then(() => writeWhole(this.#folder, { name: spoolFiles.meta, bytes: this.#bytesOf(this.#meta) }));
    this.#saved = saved.catch((error: unknown) => {
      this.#mustSave = true;
      throw error;
    });
    return this.#saved;
  }

  /** Completes the file and hashes the rest of it; between any two pieces others have their turn. Undefined: no media. */
  async seal(md5: Md5): Promise<SealedTake | undefined> {
    if (this.#meta.sealed) return this.#meta.sealed;
    if (!this.#isMade) return undefined;
    this.#isSealing = true;
    return this.#seal(md5).finally(() => {
      this.#isSealing = false;
    });
  }

  async #seal(md5: Md5): Promise<SealedTake | undefined> {
    await this.save({ isEnding: true });
    const finished = await this.#around.finishing(async (): Promise<Closed | undefined> => {
      while (!this.#open()) await turn();
      return this.#meta.rendition ? this.#besideSource() : inTurns(this.#opened().finish());
    });
    this.#isDirty = false;
    if (!finished) return undefined;
    const { size, index, head, ...about } = finished;
    while (this.#hash.due(size) > 0) {
      this.#hash.step(this.#io, { to: size, md5 });
      await turn();
    }
    if (head) await writeWhole(this.#folder, { name: spoolFiles.head, bytes: head.bytes });
    await writeWhole(this.#folder, { name: spoolFiles.index, bytes: index });
    await this.#around.files.sync(this.#path);
    const sealed: SealedTake = {
      video: { size, ...this.#hash.digest(this.#io, { size, md5 }) },
      index: { size: index.length },
      ...(head && { head: { size: head.bytes.length, from: head.from, to: head.to } }),
      ...about,
    };
    await this.save({ sealed });
    this.#durable = size;
    return sealed;
  }

  /** A rendition has no `moov`, which nobody would read; its index shows it beside its source, whose own lies in the next spool. */
  async #besideSource(): Promise<Closed | undefined> {
    const { size, ...own } = this.#opened().close();
    if (own.segments.count === 0) return undefined;
    const path = join(dirname(this.#folder), this.#meta.sessionId, spoolFiles.index);
    const { index, ...rendition } = await inTurns(besideSource(readSegmentIndex(await readFile(path)), own));
    return { size, index, rendition };
  }

  /** The last of its segments is whole, and its file closed. */
  async close(): Promise<void> {
    if (!this.#isEnding) this.end();
    await this.sync();
    this.forget();
  }

  /** Nothing is written in its folder any more: it is about to be removed. */
  async leave(): Promise<void> {
    this.#isOver = true;
    await Promise.allSettled([this.#syncing, this.#saved]);
    this.forget();
  }

  /** Its file is closed, and nothing of it stays in memory. */
  forget(): void {
    this.#file = this.#opening = undefined;
    this.#io.close();
  }

  /** How it stands, and what is new since it was asked before. Undefined before anything is known. */
  note(): TakeNote {
    const file = this.#file;
    const { inits, segments } = this.#told;
    this.#bytes = file?.size ?? this.#bytes;
    const reasons = this.#reasons;
    this.#reasons = [];
    this.#told = { inits: file?.inits.length ?? inits, segments: file?.count ?? segments };
    return {
      take: this.take,
      bytes: this.#bytes,
      writtenAt: this.#writtenAt,
      durable: this.#durable,
      gaps: this.#meta.gaps,
      reasons,
      ...(this.#trouble !== undefined && { trouble: this.#trouble }),
      inits: file?.inits.slice(inits) ?? [],
      firstInit: inits,
      rows: file ? rowsOf(file, segments) : new Float64Array(),
      first: segments,
    };
  }
}

type Closed = Pick<FinishedFile, 'size' | 'index'> &
  Partial<Omit<FinishedFile, 'size' | 'index'>> &
  Pick<SealedTake, 'rendition'>;

function told(error: unknown): { error?: string } {
  if (error === undefined) return {};
  return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}
