import { bytesOf } from '../../../core/base/config-fields.ts';
import { isRefusal } from '../../../core/base/fault.ts';
import { uuid } from '../../../core/base/ids.ts';
import { regularly } from '../../../core/base/timing.ts';
import { services } from '../../../core/plugin/services.ts';
import type { NewPartialFile, PartialFile, PartialFiles } from '../../../core/ports/intake.ts';
import { tasks } from '../../tasks/contract.ts';
import { assetOf, assetRow, folderOf } from '../asset/document.ts';
import type { AssetsKit } from '../config.ts';
import { fileTaskOf } from '../contract.ts';
import { accepted, busy, cancelled } from '../uploads/faults.ts';
import { checkPermission } from '../uploads/permission.ts';
import { isFinal, type UploadTries } from '../uploads/tries.ts';
import { fileTooLarge, nodeIsFull, notFound, tooMany } from './faults.ts';
import { type Appended, isFileOf, TusUpload } from './upload.ts';

/** Unfinished tus uploads that one node keeps. */
const mostPerNode = 1000;
/** The same of one account. */
const mostPerAccount = 100;
/** The same of one asset. The next one ends the oldest that is idle. */
const mostPerAsset = 4;
/** Time between two checks for uploads that have expired, are not wanted, or are complete, ms. */
const sweepInterval = 5 * 60_000;

export interface NewUpload {
  readonly assetId: string;
  /** Default: a new one. */
  readonly uploadId?: string;
  /** Bytes. */
  readonly size: number;
  readonly metadata: string;
  /** Epoch ms. */
  readonly expires: number;
}

export interface Place {
  readonly assetId: string;
  readonly uploadId: string;
}

export interface TusState {
  readonly uploadId: string;
  /** Bytes received. */
  readonly offset: number;
  readonly size: number;
  readonly metadata: string;
  /** Epoch ms; undefined if it became the file of the asset. */
  readonly expires: number | undefined;
}

/** The resumable uploads of this node: those of tus, and those in pieces with `Content-Range`. */
export class TusUploads {
  /** Largest file, bytes. */
  readonly most: number;
  readonly #kit: AssetsKit;
  readonly #tries: UploadTries;
  readonly #partial: PartialFiles;
  readonly #known = new Map<string, TusUpload>();
  /** Uploads that are being created; they count as well. */
  readonly #beginning = new Set<NewPartialFile>();
  readonly #renewing = new Map<string, Promise<unknown>>();

  constructor(kit: AssetsKit, { tries }: { tries: UploadTries }) {
    this.#kit = kit;
    this.#tries = tries;
    this.#partial = kit.use(services.intake).partial;
    this.most = bytesOf(kit.config.maxUploadSize);
  }

  /** Creates an empty upload. */
  async create({ assetId, uploadId = uuid(), size, metadata, expires }: NewUpload): Promise<TusState> {
    const { status, account, name } = await this.#tries.documentOf(assetId);
    if (status === 'ready') throw accepted;
    if (size > this.most) throw fileTooLarge(this.most);
    if ((await this.#kit.use(tasks).find(fileTaskOf(assetId, 'upload')))?.phase === 'cancelled')
      throw cancelled;
    // An early check; it reserves nothing, because the bytes may come hours later.
    await this.#kit.use(services.intake).checkRoom(size);
    const source = { type: 'directUpload' } as const;
    await checkPermission({ stage: 'request', account, assetId, name, source, size }, this.#kit);
    const file = { id: uploadId, size, expires, note: { assetId, account, metadata } };
    try {
      await this.#admit(file);
      const upload = this.#uploadOf(await this.#partial.begin(file));
      return stateOf(upload, 0);
    } finally {
      this.#beginning.delete(file);
    }
  }

  /** Creates an upload in the place of the unfinished one with the same id. One call at a time for each id. */
  renew(given: NewUpload & Place): Promise<TusState> {
    const { uploadId } = given;
    const before = this.#renewing.get(uploadId) ?? Promise.resolve();
    const now = before.catch(() => {}).then(() => this.#renewed(given));
    this.#renewing.set(uploadId, now);
    const forget = () => void (this.#renewing.get(uploadId) === now && this.#renewing.delete(uploadId));
    now.then(forget, forget);
    return now;
  }

  async state(at: Place, request?: Request): Promise<TusState> {
    try {
      const upload = this.#found(at);
      return await this.#using(upload, async () => stateOf(upload, await upload.offset(request)));
    } catch (error) {
      if (error !== notFound) throw error;
      return await this.finished(at);
    }
  }

  async append(at: Place, { request, ...appended }: { request: Request } & Appended): Promise<TusState> {
    try {
      const upload = this.#found(at);
      return await this.#using(upload, async () => stateOf(upload, await upload.append(request, appended)));
    } catch (error) {
      if (error !== notFound) throw error;
      const state = await this.finished(at);
      if (appended.offset !== state.size) throw accepted;
      return state;
    }
  }

  /** An unfinished upload as it is at this moment. A running request goes on. */
  glance(at: Place): TusState | undefined {
    const file = this.#partial.find(at.uploadId);
    return file && stateOf({ file }, file.offset);
  }

  async terminate(at: Place): Promise<void> {
    try {
      const upload = this.#found(at);
      await this.#using(upload, () => upload.terminate());
    } catch (error) {
      if (error !== notFound) throw error;
      await this.finished(at);
      throw accepted;
    }
  }

  /** Starts the regular checks. Returns the stop. */
  begin(): () => Promise<void> {
    // The first check runs at once and finishes the work of a former process.
    const { clock, log } = this.#kit;
    const stop = regularly(sweepInterval, {
      ...{ clock, work: (signal) => this.#sweep(signal) },
      failed: (error) => log.warn('tus uploads could not be seen to; it is tried again', { error }),
    });
    return async () => {
      const stopped = stop();
      for (const upload of this.#known.values()) upload.stop();
      await stopped;
    };
  }

  #uploadOf(file: PartialFile): TusUpload {
    const one = this.#known.get(file.id) ?? new TusUpload(file, { kit: this.#kit, tries: this.#tries });
    this.#known.set(file.id, one);
    return one;
  }

  #found({ assetId, uploadId }: Place): TusUpload {
    const file = this.#partial.find(uploadId);
    if (!file || file.note.assetId !== assetId) throw notFound;
    return this.#uploadOf(file);
  }

  /** Forgets the upload after `work` if its file is gone. */
  async #using<T>(upload: TusUpload, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      if (!this.#partial.find(upload.file.id)) this.#known.delete(upload.file.id);
    }
  }

  /** The state of an upload that became the file of its asset, on any node. Otherwise Fault `upload.not_found`. */
  async finished({ assetId, uploadId }: Place): Promise<TusState> {
    const row = await assetRow(assetId, this.#kit);
    const file = row && assetOf(row).file;
    if (!file || !isFileOf(uploadId, file.video.key.slice(folderOf(assetId).length))) throw notFound;
    const { size } = file.video;
    return { uploadId, offset: size, size, metadata: '', expires: undefined };
  }

  async #renewed(given: NewUpload & Place): Promise<TusState> {
    const file = this.#partial.find(given.uploadId);
    if (file) {
      const upload = this.#uploadOf(file);
      await this.#using(upload, () => upload.terminate()).catch((error: unknown) => {
        if (error !== notFound) throw error;
      });
    }
    return await this.create(given);
  }

  /** Makes room for one more. It counts at once, because others may be created while it waits. */
  async #admit(file: NewPartialFile): Promise<void> {
    const all = [
      ...this.#partial.list(),
      ...[...this.#beginning].filter(({ id }) => !this.#partial.find(id)),
    ];
    this.#beginning.add(file);
    if (all.length >= mostPerNode) throw nodeIsFull(mostPerNode);
    const { account, assetId } = file.note;
    const own = all.filter(({ note }) => note.account === account);
    if (own.length >= mostPerAccount) throw tooMany(mostPerAccount);
    const same = own.filter(({ note }) => note.assetId === assetId);
    if (same.length < mostPerAsset) return;
    // Some clients forget their uploads and create a new one each time.
    const idle = this.#partial
      .list()
      .find(({ id, note }) => note.assetId === assetId && !this.#known.get(id)?.isBusy);
    if (!idle) throw busy;
    const upload = this.#uploadOf(idle);
    await this.#using(upload, () => upload.terminate());
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#kit;
    for (const file of this.#partial.list()) {
      if (signal.aborted) return;
      const upload = this.#uploadOf(file);
      if (upload.isBusy) continue;
      const work = async () => {
        if (clock.now() >= file.expires || !(await this.#isWanted(file))) return upload.terminate();
        if (file.offset === file.size) await upload.offset();
      };
      await this.#using(upload, work).catch((error: unknown) => {
        if (isRefusal(error) || isFinal(error) || signal.aborted) return;
        log.warn('a tus upload could not be seen to; it is tried again', { upload: file.id, error });
      });
    }
  }

  async #isWanted({ note }: PartialFile): Promise<boolean> {
    const row = await assetRow(note.assetId, this.#kit);
    return row !== undefined && assetOf(row).status !== 'ready';
  }
}

function stateOf({ file }: Pick<TusUpload, 'file'>, offset: number): TusState {
  const { id: uploadId, size, note, expires } = file;
  return { uploadId, offset, size, metadata: note.metadata, expires: offset < size ? expires : undefined };
}
