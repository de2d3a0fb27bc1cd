import { join } from 'node:path';
import type { FedInit, FedPart } from './feed.ts';
import { joinMark } from './found-takes.ts';
import type { Hashable } from './hash-turns.ts';
import type { TakeNote } from './protocol.ts';
import { completeFile, sealFile } from './sealing.ts';
import type { SpoolSurroundings } from './spool-surroundings.ts';
import { type Steps, turn } from './steps.ts';
import type { TakeFile, TakeIo } from './take-file.ts';
import { TakeHash } from './take-hash.ts';
import { type MetaChange, TakeJson } from './take-json.ts';
import { type SealedTake, spoolFiles, type TakeMeta } from './take-meta.ts';
import { type GapReason, reasonOf, troubleOf, troubles } from './trouble.ts';
import { rowsOf } from './written.ts';

/**
 * One take on disk. What cannot be written is missing as a whole, up to a key frame, and is counted; the next try comes
 * by itself. Nothing here throws but `seal`, `save` and `sync`.
 */
export class Spool implements Hashable {
  readonly take: number;
  readonly #folder: string;
  readonly #around: SpoolSurroundings;
  readonly #json: TakeJson;
  #file: TakeFile | undefined;
  /** The look through a file that is there. */
  #opening: Steps<TakeFile> | undefined;
  readonly #io: TakeIo;
  readonly #hash = new TakeHash();
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
  #syncing: Promise<void> = Promise.resolve();
  #isOver = false;
  #isSealing = false;
  #told = { inits: 0, segments: 0 };

  constructor(
    options: { take: number; meta: TakeMeta; isMade: boolean; folder: string },
    around: SpoolSurroundings,
  ) {
    this.take = options.take;
    this.#folder = options.folder;
    this.#around = around;
    const { meta, isMade } = options;
    this.#json = new TakeJson(this.#folder, { meta, isMade, most: around.limits.metaBytes });
    this.#io = around.io(this.#path);
  }

  get #path(): string {
    return join(this.#folder, spoolFiles.video);
  }

  /** For the log. */
  get #name(): { sessionId: string; rendition?: string } {
    const { sessionId, rendition } = this.#json.meta;
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
      if (!space.isLowFor(this.#json.meta.rendition ? 'rendition' : 'source')) return undefined;
      return this.#json.isMade ? troubles.low : troubles.lowFirst;
    } catch (error) {
      return troubleOf(error);
    }
  }

  /** It has had so many inits, and this is another. What is joined has those of its parts. */
  #isCrowded(file: TakeFile, init: FedInit): boolean {
    if (file.inits.length < this.#around.limits.inits || this.#json.meta.sessionId.startsWith(joinMark))
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
      this.#json.addGap();
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
    // First that, so that no file is ever without one.
    if (!this.#json.isMade) this.#json.make();
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

  get #isEnding(): boolean {
    return this.#json.meta.isEnding === true;
  }

  /** Something of it is not hashed that will never change again, and it can be read as far as is known. */
  get isHashable(): boolean {
    if (this.#json.meta.sealed || this.#isEnding || this.#around.clock.now() < this.#retryAt) return false;
    if (!this.#file) return this.#json.isMade;
    return this.unhashed > 0;
  }

  get isOpen(): boolean {
    return this.#file !== undefined;
  }

  lookThrough(): void {
    this.#tryToRead(() => this.#open());
  }

  get unhashed(): number {
    return this.#file ? this.#file.sealed - this.#hash.bytes : 0;
  }

  hash(into: Uint8Array): void {
    const to = this.#hash.bytes + this.unhashed;
    this.#tryToRead(() => this.#hash.step(this.#io, { to, into }));
  }

  #tryToRead(read: () => void): void {
    try {
      read();
    } catch (error) {
      this.#retryAt = this.#around.clock.now() + this.#around.limits.retry;
      this.#around.log('a recording cannot be read', { ...this.#name, ...told(error) });
    }
  }

  get needsSync(): boolean {
    // `seal` syncs what it writes, when it is whole.
    return !this.#isOver && !this.#isSealing && (this.#isDirty || this.#json.mustSave);
  }

  /** Brings what is written to the disk. */
  sync(): Promise<void> {
    this.#syncing = this.#sync();
    return this.#syncing;
  }

  async #sync(): Promise<void> {
    if (this.#json.mustSave && this.#json.isMade) await this.save({});
    if (!this.#isDirty || !this.#file) return;
    const { sealed } = this.#file;
    this.#isDirty = false;
    try {
      await this.#around.files.sync(this.#path);
      this.#durable = sealed;
    } catch (error) {
      // What the disk has of it is not known any more: it is read again for the hash, and what comes is set apart by a gap.
      this.#isDirty = true;
      this.#hash.restart();
      this.#miss(troubleOf(error), error);
    }
  }

  /** Changes `take.json`. On disk when it resolves. */
  save(change: MetaChange): Promise<void> {
    return this.#json.save(change);
  }

  /** Completes the file and hashes the rest of it; between any two pieces others have their turn. Undefined: no media. */
  async seal(): Promise<SealedTake | undefined> {
    if (this.#json.meta.sealed) return this.#json.meta.sealed;
    if (!this.#json.isMade) return undefined;
    this.#isSealing = true;
    return this.#seal().finally(() => {
      this.#isSealing = false;
    });
  }

  async #seal(): Promise<SealedTake | undefined> {
    await this.save({ isEnding: true });
    const complete = await this.#around.finishing(async () => {
      while (!this.#open()) await turn();
      return completeFile(this.#opened(), { meta: this.#json.meta, folder: this.#folder });
    });
    this.#isDirty = false;
    if (!complete) return undefined;
    const sealed = await sealFile(complete, {
      ...{ folder: this.#folder, io: this.#io, hash: this.#hash },
      piece: this.#around.limits.hashPiece,
      sync: () => this.#around.files.sync(this.#path),
    });
    await this.save({ sealed });
    this.#durable = complete.size;
    return sealed;
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
    await Promise.allSettled([this.#syncing, this.#json.settled()]);
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
      gaps: this.#json.meta.gaps,
      reasons,
      ...(this.#trouble !== undefined && { trouble: this.#trouble }),
      inits: file?.inits.slice(inits) ?? [],
      firstInit: inits,
      rows: file ? rowsOf(file, segments) : new Float64Array(),
      first: segments,
    };
  }
}

function told(error: unknown): { error?: string } {
  if (error === undefined) return {};
  return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}
