import { bytesOf } from '../../../core/base/config-fields.ts';
import { hasCode, isRefusal } from '../../../core/base/fault.ts';
import { uuid } from '../../../core/base/ids.ts';
import { regularly } from '../../../core/base/timing.ts';
import { services } from '../../../core/plugin/services.ts';
import type { NewPartialFile, PartialFile } from '../../../core/ports/intake.ts';
import { tasks } from '../../tasks/contract.ts';
import { assetOf, assetRow, folderOf } from '../asset/document.ts';
import type { AssetsKit } from '../config.ts';
import { fileTaskOf } from '../contract.ts';
import { accepted, busy, cancelled } from '../uploads/faults.ts';
import type { UploadTries } from '../uploads/tries.ts';
import { fileTooLarge, nodeIsFull, notFound, tooMany } from './faults.ts';
import { isFileOf, TusUpload } from './upload.ts';

/** Unfinished tus uploads that one node keeps. */
const mostPerNode = 1000;
/** The same of one account. */
const mostPerAccount = 100;
/** The same of one asset. The next one ends the oldest that is idle. */
const mostPerAsset = 4;
/** Time between two checks for uploads that have expired, are not wanted, or are complete, ms. */
const sweepInterval = 5 * 60_000;

/** The tus uploads of this node. */
export interface TusUploads {
  /** Largest file, bytes. */
  readonly most: number;
  /** Creates an empty upload. */
  create(upload: NewUpload): Promise<TusState>;
  state(at: Place, request?: Request): Promise<TusState>;
  append(at: Place, given: { readonly request: Request; readonly offset: number }): Promise<TusState>;
  terminate(at: Place): Promise<void>;
  /** Starts the regular checks. Returns the stop. */
  begin(): () => Promise<void>;
}

export interface NewUpload {
  readonly assetId: string;
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

export function tusUploads(kit: AssetsKit, { tries }: { tries: UploadTries }): TusUploads {
  const { clock, config, log } = kit;
  const { partial } = kit.use(services.intake);
  const most = bytesOf(config.maxUploadSize);
  const known = new Map<string, TusUpload>();
  /** Uploads that are being created; they count as well. */
  const beginning = new Set<NewPartialFile>();

  const uploadOf = (file: PartialFile): TusUpload => {
    const one = known.get(file.id) ?? new TusUpload(file, { kit, tries });
    known.set(file.id, one);
    return one;
  };
  const found = ({ assetId, uploadId }: Place): TusUpload => {
    const file = partial.find(uploadId);
    if (!file || file.note.assetId !== assetId) throw notFound;
    return uploadOf(file);
  };
  /** Forgets the upload after `work` if its file is gone. */
  const using = async <T>(upload: TusUpload, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } finally {
      if (!partial.find(upload.file.id)) known.delete(upload.file.id);
    }
  };
  const stateOf = ({ file }: TusUpload, offset: number): TusState => {
    const { id: uploadId, size, note, expires } = file;
    return {
      uploadId,
      offset,
      size,
      metadata: note.metadata,
      ...{ expires: offset < size ? expires : undefined },
    };
  };
  /** The state of an upload that became the file of its asset, on any node. Otherwise Fault `upload.not_found`. */
  const finished = async ({ assetId, uploadId }: Place): Promise<TusState> => {
    const row = await assetRow(assetId, kit);
    const file = row && assetOf(row).file;
    if (!file || !isFileOf(uploadId, file.video.key.slice(folderOf(assetId).length))) throw notFound;
    const { size } = file.video;
    return { uploadId, offset: size, size, metadata: '', expires: undefined };
  };

  /** Makes room for one more. It counts at once, because others may be created while it waits. */
  const admit = async (file: NewPartialFile): Promise<void> => {
    const all = [...partial.list(), ...[...beginning].filter(({ id }) => !partial.find(id))];
    beginning.add(file);
    if (all.length >= mostPerNode) throw nodeIsFull(mostPerNode);
    const { account, assetId } = file.note;
    const own = all.filter(({ note }) => note.account === account);
    if (own.length >= mostPerAccount) throw tooMany(mostPerAccount);
    const same = own.filter(({ note }) => note.assetId === assetId);
    if (same.length < mostPerAsset) return;
    // Some clients forget their uploads and create a new one each time.
    const idle = partial.list().find(({ id, note }) => note.assetId === assetId && !known.get(id)?.isBusy);
    if (!idle) throw busy;
    const upload = uploadOf(idle);
    await using(upload, () => upload.terminate());
  };

  const sweep = async (signal: AbortSignal): Promise<void> => {
    for (const file of partial.list()) {
      if (signal.aborted) return;
      const upload = uploadOf(file);
      if (upload.isBusy) continue;
      const work = async () => {
        if (clock.now() >= file.expires || !(await isWanted(file))) return upload.terminate();
        if (file.offset === file.size) await upload.offset();
      };
      await using(upload, work).catch((error: unknown) => {
        if (isRefusal(error) || hasCode(error, 'upload.refused') || signal.aborted) return;
        log.warn('a tus upload could not be seen to; it is tried again', { upload: file.id, error });
      });
    }
  };
  const isWanted = async ({ note }: PartialFile): Promise<boolean> => {
    const row = await assetRow(note.assetId, kit);
    return row !== undefined && assetOf(row).status !== 'ready';
  };

  return {
    most,
    async create({ assetId, size, metadata, expires }) {
      const { status, account } = await tries.documentOf(assetId);
      if (status === 'ready') throw accepted;
      if (size > most) throw fileTooLarge(most);
      if ((await kit.use(tasks).find(fileTaskOf(assetId, 'upload')))?.phase === 'cancelled') throw cancelled;
      // An early check; it reserves nothing, because the bytes may come hours later.
      await kit.use(services.intake).checkRoom(size);
      const file = { id: uuid(), size, expires, note: { assetId, account, metadata } };
      try {
        await admit(file);
        const upload = uploadOf(await partial.begin(file));
        return stateOf(upload, 0);
      } finally {
        beginning.delete(file);
      }
    },
    async state(at, request) {
      try {
        const upload = found(at);
        return await using(upload, async () => stateOf(upload, await upload.offset(request)));
      } catch (error) {
        if (error !== notFound) throw error;
        return await finished(at);
      }
    },
    async append(at, { request, offset }) {
      try {
        const upload = found(at);
        return await using(upload, async () => stateOf(upload, await upload.append(request, offset)));
      } catch (error) {
        if (error !== notFound) throw error;
        const state = await finished(at);
        if (offset !== state.size) throw accepted;
        return state;
      }
    },
    async terminate(at) {
      try {
        const upload = found(at);
        await using(upload, () => upload.terminate());
      } catch (error) {
        if (error !== notFound) throw error;
        await finished(at);
        throw accepted;
      }
    },
    begin() {
      // The first check runs at once and finishes the work of a former process.
      const stop = regularly(sweepInterval, {
        ...{ clock, work: sweep },
        failed: (error) => log.warn('tus uploads could not be seen to; it is tried again', { error }),
      });
      return async () => {
        const stopped = stop();
        for (const upload of known.values()) upload.stop();
        await stopped;
      };
    },
  };
}
