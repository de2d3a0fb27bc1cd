import { Fault, hasCode } from '../../../core/base/fault.ts';
import { uuid } from '../../../core/base/ids.ts';
import { hold } from '../../../core/http/hold.ts';
import type { PartialFile, ReceivedFile } from '../../../core/ports/intake.ts';
import { tasks } from '../../tasks/contract.ts';
import { comeStage, isNormalised } from '../asset/accept.ts';
import type { AssetsKit } from '../config.ts';
import { fileTaskOf } from '../contract.ts';
import { accepted, cancelled, stopping } from '../uploads/faults.ts';
import { isFinal, leastPace, lengthOf, progressOf, type Try, type UploadTries } from '../uploads/tries.ts';
import { begunAnew, interrupted, notFound, wrongOffset } from './faults.ts';
import { Turn } from './turn.ts';

/** After a PATCH the task stays `running` for so long, ms. Then it waits for the next one. */
const pauseTime = 10_000;

/**
 * One resumable upload of this node: a partial file, and an attempt at the task of the asset. After the last byte the file becomes the file
 * of the asset, as after a PUT. If that fails for a temporary reason, the file stays and the next request tries again. After the
 * end all methods throw Fault `upload.not_found`.
 */
export class TusUpload {
  readonly file: PartialFile;
  readonly #kit: AssetsKit;
  readonly #tries: UploadTries;
  readonly #turn: Turn;
  /** Ends the running request with this reason. */
  #end: (reason: unknown) => void = () => {};
  /** The task knows that this attempt is running. */
  #isBegun = false;
  #report: ((bytes: number) => void) | undefined;
  #cancelPause = () => {};
  #isOver = false;

  constructor(file: PartialFile, { kit, tries }: { kit: AssetsKit; tries: UploadTries }) {
    this.file = file;
    this.#kit = kit;
    this.#tries = tries;
    this.#turn = new Turn(kit);
  }

  get isBusy(): boolean {
    return this.#turn.isTaken;
  }

  /** Bytes received so far. A running request is ended first, so the number is final. If it is the whole file, the asset is ready. */
  offset(request?: Request): Promise<number> {
    return this.#alone(async (signal) => {
      if (this.file.offset === this.file.size) await this.#attempt({ request, signal, work: async () => {} });
      return this.file.offset;
    });
  }

  /**
   * Appends the body of a request, which begins at `offset`, and returns the new offset. If it is the whole file, the asset is ready.
   * With `isRepeat` the body may begin with bytes that the file has already.
   */
  append(request: Request, { offset, isRepeat = false }: Appended): Promise<number> {
    return this.#alone(async (signal) => {
      const { file } = this;
      const skip = isRepeat ? Math.max(0, file.offset - offset) : 0;
      if (offset + skip !== file.offset) throw wrongOffset(file.offset);
      const length = lengthOf(request);
      const expected = length === undefined ? undefined : Math.max(0, length - skip);
      // Before a byte is read.
      if ((expected ?? 0) > file.size - file.offset) throw beyond(file.size - file.offset);
      const work = async () => {
        const release = this.#tries.places.take(file.note.account);
        try {
          const least = leastPace(this.#kit);
          const options = { signal, skip, least, ...(expected !== undefined && { expected }) };
          await file.append(request.body, { ...options, onBytes: (bytes) => this.#report?.(bytes) });
        } finally {
          release();
        }
      };
      await this.#attempt({ request, signal, work });
      return file.offset;
    });
  }

  /** The client does not want it any more. */
  terminate(): Promise<void> {
    return this.#alone(() => this.#drop());
  }

  /** This process ends. The task stays as it is. */
  stop(): void {
    this.#cancelPause();
    this.#end(stopping);
  }

  async #alone<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const ending = new AbortController();
    const leave = await this.#turn.take(() => ending.abort(interrupted));
    this.#end = (reason) => ending.abort(reason);
    this.#cancelPause();
    try {
      // The request before may have finished or removed it.
      if (this.#isOver) throw notFound;
      return await work(ending.signal);
    } finally {
      this.#end = () => {};
      leave();
    }
  }

  /** Runs `work` while the task is `running`. After the last byte it also gives the file to the asset. */
  async #attempt(step: { request: Request | undefined; signal: AbortSignal; work(): Promise<void> }) {
    const { file } = this;
    const { assetId } = file.note;
    const of: Try = { assetId, taskId: fileTaskOf(assetId, 'upload'), workId: file.id, assetName: '' };
    let letGo = () => {};
    try {
      const document = await this.#tries.documentOf(assetId);
      if (document.status === 'ready') throw accepted;
      if (!this.#isBegun) await this.#tries.begin(of);
      this.#isBegun = true;
      this.#report ??= progressOf(
        { ...of, expected: file.size, to: comeStage(await isNormalised(this.#kit)) },
        { tasks: this.#kit.use(tasks), clock: this.#kit.clock, unwanted: () => this.#end(cancelled) },
      );
      await this.#tries.awaitAnew(document);
      if (step.request) letGo = hold(step.request);
      await step.work();
      if (file.offset < file.size) return this.#pause();
      await this.#finish({ ...of, assetName: document.name }, step.signal);
    } catch (error) {
      throw await this.#settled(error, of);
    } finally {
      letGo();
    }
  }

  async #finish(of: Try, signal: AbortSignal): Promise<void> {
    // Only the end of the program interrupts this. Other requests wait for the result.
    const ending = new AbortController();
    this.#end = (reason) => reason === interrupted || ending.abort(reason);
    if (signal.aborted && signal.reason !== interrupted) throw signal.reason;
    let received: ReceivedFile | undefined;
    try {
      received = await this.file.received();
      await this.#tries.take(received, { of, name: blobName(this.file.id), signal: ending.signal });
      this.#isBegun = false;
    } finally {
      await received?.discard();
    }
    await this.#drop();
  }

  /** Cleans up after an error, and returns the error for the client. */
  async #settled(error: unknown, of: Try): Promise<unknown> {
    if (error === interrupted) {
      this.#pause();
      return error;
    }
    const isBegun = this.#isBegun;
    this.#isBegun = false;
    const truth = await this.#truthOf(await this.#tries.ended(error, { ...of, isBegun }), of);
    if (isFinal(truth) || truth === accepted || truth === cancelled || hasCode(truth, 'asset.not_found'))
      await this.#drop();
    return truth;
  }

  /** The task does not know this attempt any more: it was cancelled, or it was restarted. */
  async #truthOf(truth: unknown, of: Try): Promise<unknown> {
    if (truth !== cancelled) return truth;
    const now = await this.#kit.use(tasks).find(of.taskId);
    return now && now.phase !== 'cancelled' ? begunAnew : cancelled;
  }

  /** The next request may come at once, so the task stays `running` for a while. */
  #pause(): void {
    const { clock, log } = this.#kit;
    const { assetId } = this.file.note;
    this.#cancelPause();
    this.#cancelPause = clock.at(clock.now() + pauseTime, () => {
      if (!this.#isBegun || this.isBusy) return;
      this.#isBegun = false;
      const told = this.#kit.use(tasks).interrupted(fileTaskOf(assetId, 'upload'), this.file.id);
      told.catch((error: unknown) => log.warn('a pause could not be told', { asset: assetId, error }));
    });
  }

  async #drop(): Promise<void> {
    this.#cancelPause();
    this.#isOver = true;
    const isBegun = this.#isBegun;
    this.#isBegun = false;
    await this.file.remove();
    if (isBegun)
      await this.#kit.use(tasks).interrupted(fileTaskOf(this.file.note.assetId, 'upload'), this.file.id);
  }
}

/** What a request appends. */
export interface Appended {
  /** Of its first byte in the file. */
  readonly offset: number;
  /** It may begin with bytes that the file has already. */
  readonly isRepeat?: boolean;
}

/** Each attempt has blobs of its own. Their names tell which upload an asset's file came from. */
function blobName(id: string): string {
  return `${id}-${uuid().slice(0, 8)}`;
}

/** Whether a file came from this upload. `name`: its key below the folder of the asset. */
export function isFileOf(id: string, name: string): boolean {
  return name.startsWith(`${id}-`);
}

function beyond(left: number): Fault {
  return new Fault('intake.beyond', {
    status: 413,
    message: `Content-Length: at most ${left} bytes are missing.`,
  });
}
