import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../../../core/ports/clock.ts';
import { writeWhole } from '../../../base/disk.ts';
import { FileHash } from '../../../base/file-hash.ts';
import type { PublishedInit, PublishedPart } from '../../publish/subscriber.ts';
import { type GrowingFile, openGrowingFile } from '../file/growing-file.ts';
import { type Steps, turn } from '../file/steps.ts';
import { fileNames, joinMark, type RecordingMeta, type SealedFile } from '../meta.ts';
import type { RecorderSettings } from '../settings.ts';
import { type GapReason, reasonOf, troubleOf, troubles } from '../trouble.ts';
import type { DiskFile } from './file-io.ts';
import type { FreeSpace } from './free-space.ts';
import type { FileNote } from './protocol.ts';
import { completeFile, hashPiece, sealFile } from './sealing.ts';

/** What the recording files of a node share. */
export interface RecorderContext {
  readonly clock: Clock;
  readonly settings: RecorderSettings;
  readonly space: FreeSpace;
  /** Runs one after the other: while a file is completed its index is in memory. */
  inOrder<T>(work: () => Promise<T>): Promise<T>;
  open(path: string): DiskFile;
  log(message: string, fields: Readonly<Record<string, unknown>>): void;
}

/**
 * Writes one recording file. What cannot be written is missing as a whole, up to a key frame, and is counted as a gap; the next
 * attempt comes by itself. Only `seal`, `save` and `sync` throw.
 */
export class FileWriter {
  readonly number: number;
  readonly #folder: string;
  readonly #context: RecorderContext;
  readonly #json: MetaFile;
  readonly #io: DiskFile;
  #file: GrowingFile | undefined;
  /** The scan of a file that a former process left. */
  #opening: Steps<GrowingFile> | undefined;
  #hash = new FileHash();
  #init: PublishedInit | undefined;
  /** `#init` is in the file, and nothing is missing behind it. */
  #isPlaced = false;
  #isInGap = false;
  #trouble: string | undefined;
  #retryAt = Number.NEGATIVE_INFINITY;
  #writtenAt = 0;
  #durable = 0;
  #bytes = 0;
  #isDirty = false;
  #syncing: Promise<void> = Promise.resolve();
  /** Its folder is about to be removed. */
  #isOver = false;
  /** New since the last note. */
  #reasons: GapReason[] = [];
  #taken = 0;
  #noted = { inits: 0, segments: 0 };

  constructor(
    options: { number: number; meta: RecordingMeta; isMade: boolean; folder: string },
    context: RecorderContext,
  ) {
    this.number = options.number;
    this.#folder = options.folder;
    this.#context = context;
    this.#json = new MetaFile(options.folder, options);
    this.#io = context.open(join(options.folder, fileNames.video));
  }

  begin(init: PublishedInit): void {
    this.#init = init;
    this.#isPlaced = false;
    this.#isInGap = false;
  }

  part(bytes: Uint8Array, part: PublishedPart): void {
    this.#taken += bytes.length;
    const now = this.#context.clock.now();
    if (this.#isEnding || !this.#init) return;
    if (this.#isInGap && (!part.isIndependent || now < this.#retryAt)) return;
    const refusal = this.#refusal(bytes.length);
    if (refusal !== undefined) return void this.#miss(refusal);
    try {
      const file = this.#opened();
      if (!this.#isPlaced && this.#hasTooManyInits(file, this.#init))
        return void this.#miss(troubles.changes);
      if (!this.#isPlaced) file.begin(this.#init);
      file.part(bytes, this.#isPlaced ? part : { ...part, startsSegment: true });
      this.#context.space.wrote(bytes.length);
    } catch (error) {
      return void this.#miss(troubleOf(error), error);
    }
    this.#isPlaced = true;
    this.#isInGap = false;
    this.#trouble = undefined;
    this.#isDirty = true;
    this.#writtenAt = now;
  }

  /** Parts are missing that did not come here. */
  gap(reason: GapReason): void {
    if (!this.#isInGap) {
      this.#reasons.push(reason);
      this.#json.addGap();
    }
    this.#isInGap = true;
    this.#pause();
  }

  /** The publish ended. */
  end(): void {
    this.#init = undefined;
    this.#isInGap = false;
    this.#pause();
  }

  /** Why nothing can be written now. */
  #refusal(size: number): string | undefined {
    if ((this.#file?.size ?? 0) + size > mostFileBytes) return troubles.large;
    try {
      const { rendition } = this.#json.meta;
      if (!this.#context.space.isLowFor(rendition ? 'rendition' : 'source')) return undefined;
      return this.#json.isMade ? troubles.low : troubles.lowFirst;
    } catch (error) {
      return troubleOf(error);
    }
  }

  /** A joined file has the inits of all its parts. */
  #hasTooManyInits(file: GrowingFile, init: PublishedInit): boolean {
    const isJoined = this.#json.meta.sessionId.startsWith(joinMark);
    return !isJoined && file.inits.length >= mostInits && !file.has(init);
  }

  #miss(trouble: string, error?: unknown): void {
    if (trouble !== this.#trouble)
      this.#log('a recording cannot be written', { trouble, ...fieldsOf(error) });
    this.#trouble = trouble;
    this.#retryAt = this.#context.clock.now() + this.#context.settings.retry;
    this.gap(reasonOf(trouble));
  }

  /** The open segment is whole; the next part begins with an init. */
  #pause(): void {
    this.#isPlaced = false;
    this.#isDirty ||= this.#file !== undefined;
    try {
      this.#file?.pause();
    } catch {
      // The next part tries again, and says what is wrong.
    }
  }

  /** Opens the file, however long it is. */
  #opened(): GrowingFile {
    for (;;) {
      const file = this.#open();
      if (file) return file;
    }
  }

  /** Undefined: the scan of a long file needs further calls. */
  #open(): GrowingFile | undefined {
    if (this.#file) return this.#file;
    // First that, so that no file is ever without one.
    if (!this.#json.isMade) this.#json.make();
    const opening = this.#opening ?? openGrowingFile(this.#io);
    // A scan that throws begins anew.
    this.#opening = undefined;
    const step = opening.next();
    if (!step.done) {
      this.#opening = opening;
      return undefined;
    }
    this.#file = step.value;
    const { cut } = this.#file;
    if (cut) this.#log('the torn end of a recording was cut off', cut);
    // What a former process wrote may not be on disk.
    this.#isDirty = this.#file.size > 0;
    return this.#file;
  }

  get #isEnding(): boolean {
    return this.#json.meta.isEnding === true;
  }

  /** Looks through what a former process left and repairs its end; others have their turn in between. */
  async repair(): Promise<void> {
    try {
      while (!this.#isOver && !this.#isEnding && !this.#open()) await turn();
    } catch (error) {
      this.#log('a recording cannot be read', fieldsOf(error));
    }
    this.rest();
  }

  /** Hashes a piece of what never changes again. False: there is none. */
  hashNext(): boolean {
    const to = this.#file?.sealed ?? 0;
    if (this.#isEnding || this.#hash.size >= to) return false;
    try {
      hashPiece(this.#hash, { io: this.#io, to });
      return true;
    } catch {
      // `seal` reads it again, and says what is wrong.
      return false;
    }
  }

  get needsSync(): boolean {
    // `seal` itself syncs what it writes.
    return !this.#isOver && !this.#isEnding && (this.#isDirty || this.#json.mustSave);
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
      await this.#io.sync();
      this.#durable = sealed;
    } catch (error) {
      // Nobody knows what the disk has of it: it is hashed anew, and what follows is set apart by a gap.
      this.#isDirty = true;
      this.#hash = new FileHash();
      this.#miss(troubleOf(error), error);
    }
  }

  /** Changes `take.json`. On disk when it resolves. */
  save(change: MetaChange): Promise<void> {
    return this.#json.save(change);
  }

  /** Completes the file and hashes the rest of it; others have their turn in between. Undefined: no media. */
  async seal(): Promise<SealedFile | undefined> {
    if (this.#json.meta.sealed) return this.#json.meta.sealed;
    if (!this.#json.isMade) return undefined;
    await this.save({ isEnding: true });
    const complete = await this.#context.inOrder(async () => {
      while (!this.#open()) await turn();
      return completeFile(this.#opened(), { meta: this.#json.meta, folder: this.#folder });
    });
    this.#isDirty = false;
    if (!complete) return undefined;
    const sealed = await sealFile(complete, { folder: this.#folder, io: this.#io, hash: this.#hash });
    await this.save({ sealed });
    this.#durable = complete.size;
    return sealed;
  }

  /** The process ends: the last segment is whole, and all is on disk. */
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

  /** Closes the file while nobody feeds it: many wait for hours, and a process may have few open. */
  rest(): void {
    if (!this.#init) this.#io.close();
  }

  /** The file is closed, and nothing of it stays in memory. */
  forget(): void {
    this.#file = this.#opening = undefined;
    this.#io.close();
  }

  /** How it stands, with what is new since the last call. */
  note(): FileNote {
    const file = this.#file;
    const { inits, segments } = this.#noted;
    this.#bytes = file?.size ?? this.#bytes;
    const note: FileNote = {
      file: this.number,
      taken: this.#taken,
      bytes: this.#bytes,
      writtenAt: this.#writtenAt,
      durable: this.#durable,
      gaps: this.#json.meta.gaps,
      reasons: this.#reasons,
      ...(this.#trouble !== undefined && { trouble: this.#trouble }),
      inits: file?.inits.slice(inits) ?? [],
      firstInit: inits,
      rows: file?.rowsSince(segments) ?? new Float64Array(),
      firstRow: segments,
    };
    this.#taken = 0;
    this.#reasons = [];
    this.#noted = { inits: file?.inits.length ?? inits, segments: file?.count ?? segments };
    return note;
  }

  #log(message: string, fields: object): void {
    const { sessionId, rendition } = this.#json.meta;
    this.#context.log(message, { sessionId, ...(rendition && { rendition: rendition.name }), ...fields });
  }
}

/** What S3 takes as one blob: 10,000 parts of 16 MiB, less some room for the moov. */
const mostFileBytes = 150 * 1024 ** 3;
/** Each init is a track of the film, and 128 KiB of memory at worst. */
export const mostInits = 250;

function fieldsOf(error: unknown): { error?: string } {
  if (error === undefined) return {};
  return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}

/** Fields that change; null removes one. */
type MetaChange = { [Name in keyof RecordingMeta]?: RecordingMeta[Name] | null };

/** The `take.json` of one recording file: its content, and whether the disk has all of it. */
class MetaFile {
  readonly #folder: string;
  #meta: RecordingMeta;
  #isMade: boolean;
  #mustSave = false;
  #saved: Promise<void> = Promise.resolve();

  constructor(folder: string, options: { meta: RecordingMeta; isMade: boolean }) {
    this.#folder = folder;
    this.#meta = options.meta;
    this.#isMade = options.isMade;
  }

  get meta(): RecordingMeta {
    return this.#meta;
  }

  /** The file exists, and so does the folder. */
  get isMade(): boolean {
    return this.#isMade;
  }

  /** The disk may have an older one. */
  get mustSave(): boolean {
    return this.#mustSave;
  }

  /** Comes to the disk with the next `save`. */
  addGap(): void {
    this.#meta = { ...this.#meta, gaps: this.#meta.gaps + 1 };
    this.#mustSave = true;
  }

  /** Makes the folder and the file. Throws what the disk says. */
  make(): void {
    mkdirSync(this.#folder, { recursive: true });
    const path = join(this.#folder, fileNames.meta);
    writeFileSync(`${path}.new`, JSON.stringify(this.#meta), { mode: 0o640 });
    renameSync(`${path}.new`, path);
    this.#isMade = true;
    this.#mustSave = true;
  }

  /** On disk when it resolves. */
  save(change: MetaChange): Promise<void> {
    const changed = Object.entries({ ...this.#meta, ...change }).filter(([, value]) => value !== null);
    this.#meta = Object.fromEntries(changed) as unknown as RecordingMeta;
    this.#mustSave = false;
    const saved = this.settled().then(() =>
      writeWhole(this.#folder, { name: fileNames.meta, bytes: Buffer.from(JSON.stringify(this.#meta)) }),
    );
    this.#saved = saved.catch((error: unknown) => {
      this.#mustSave = true;
      throw error;
    });
    return this.#saved;
  }

  /** Resolves when nothing is being written, successful or not. */
  settled(): Promise<void> {
    return this.#saved.catch(() => {});
  }
}
