import type { Log } from '../../../../core/base/log.ts';
import { sideBySide } from '../../../../core/base/side-by-side.ts';
import { pause } from '../../../../core/base/timing.ts';
import type { Blobs, BlobUpload } from '../../../../core/ports/blobs.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import { Backoff } from '../../../base/backoff.ts';
import { Semaphore } from '../../../base/semaphore.ts';
import type { RecordingFile } from '../recording-file.ts';
import type { RecorderSettings } from '../settings.ts';
import { unavailable } from '../writing-thread.ts';

interface UploadsOptions {
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly settings: RecorderSettings;
  readonly log: Log;
  /** Saves it in `take.json`. */
  save(file: RecordingFile, upload: BlobUpload | null): Promise<void>;
}

/**
 * Uploads recording files to the blob store while they grow: parts that never change again and are on disk, so that no crash can
 * make the store wrong. A store that fails is asked again, less and less often; nothing else waits for it.
 */
export class MultipartUploads {
  readonly #options: UploadsOptions;
  readonly #running = new Map<RecordingFile, Running>();
  readonly #slots: Semaphore;
  #isClosed = false;

  constructor(options: UploadsOptions) {
    this.#options = options;
    this.#slots = new Semaphore({ running: options.settings.uploads, waiting: Number.POSITIVE_INFINITY });
  }

  /** There is more of the file. */
  notice(file: RecordingFile): void {
    const { uploadPart } = this.#options.settings;
    if (this.#isClosed || file.isEnding || file.isDropped || file.durable < uploadPart) return;
    const running = this.#of(file);
    if (running.growing || !this.#hasPart(file, running)) return;
    running.growing = this.#grow(file, running).finally(() => {
      running.growing = undefined;
    });
  }

  /** Makes the blob: `size` bytes, all of which are on disk. Throws what the store does. */
  async complete(
    file: RecordingFile,
    { size, signal }: { size: number; signal: AbortSignal },
  ): Promise<void> {
    const { blobs } = this.#options;
    const running = this.#of(file);
    running.stop.abort();
    await running.growing;
    for (let attempt = 1; attempt <= uploadAttempts; attempt++) {
      signal.throwIfAborted();
      const isSent = (await this.#send(file, { running, to: size, signal })) === 'ok';
      const { upload } = file.meta;
      const answer =
        isSent && upload ? await blobs.uploads.complete(upload, { size }) : { outcome: 'gone' as const };
      if (answer.outcome === 'ok') {
        this.#running.delete(file);
        return;
      }
      if ('missing' in answer) for (const number of answer.missing) running.sent?.delete(number);
      if (answer.outcome !== 'gone') continue;
      // It may have been completed by a process that died before it could say so.
      if ((await blobs.head(file.keys.video))?.size === size) return;
      await this.#restart(file, running);
    }
    throw unavailable(`the blob store lost parts of ${file.keys.video} again and again`);
  }

  /** Ends what runs; the store forgets what it has. */
  async abandon(file: RecordingFile): Promise<void> {
    const running = this.#running.get(file);
    running?.stop.abort();
    await running?.growing;
    this.#running.delete(file);
    const { upload, finished, made } = file.meta;
    if (upload && !finished && !made) await this.#options.blobs.uploads.abort(upload);
  }

  /** Uploads stay as they are; the next process continues them. */
  close(): void {
    this.#isClosed = true;
    for (const { stop } of this.#running.values()) stop.abort();
  }

  #of(file: RecordingFile): Running {
    const sent = file.meta.upload === undefined ? new Set<number>() : undefined;
    const running = this.#running.get(file) ?? { sent, stop: new AbortController() };
    this.#running.set(file, running);
    return running;
  }

  #hasPart(file: RecordingFile, { sent }: Running): boolean {
    return !sent || Math.floor(file.durable / this.#options.settings.uploadPart) > sent.size;
  }

  async #grow(file: RecordingFile, running: Running): Promise<void> {
    const { log, clock, settings } = this.#options;
    const { signal } = running.stop;
    const { uploadPart, uploadWait: first, uploadWaitMost: most } = settings;
    const backoff = new Backoff({ first, most, random: Math.random });
    while (!signal.aborted && !file.isEnding && this.#hasPart(file, running)) {
      try {
        const to = file.durable - (file.durable % uploadPart);
        const outcome = await this.#send(file, { running, to, signal });
        if (outcome === 'gone') await this.#restart(file, running);
        backoff.reset();
      } catch (error) {
        if (signal.aborted) return;
        const wait = backoff.next();
        const { sessionId } = file.meta;
        log.warn('a part of a recording could not be uploaded; it is tried again', {
          sessionId,
          wait,
          error,
        });
        await pause(clock.now() + wait, { clock, signal });
      }
    }
  }

  /** Sends the parts that are missing below `to`. */
  async #send(
    file: RecordingFile,
    { running, to, signal }: { running: Running; to: number; signal: AbortSignal },
  ): Promise<'ok' | 'gone'> {
    const begun = await this.#begin(file, running);
    if (begun === 'gone') return 'gone';
    const { upload, sent } = begun;
    const count = Math.ceil(to / upload.partSize);
    const numbers = Array.from({ length: count }, (_, index) => index + 1);
    let isGone = false;
    const failed = new AbortController();
    const either = AbortSignal.any([signal, failed.signal]);
    const send = async (number: number) => {
      const leave = (await this.#slots.take(either)) as () => void;
      try {
        const from = (number - 1) * upload.partSize;
        const bytes = await read(file, { from, to: Math.min(from + upload.partSize, to) });
        const outcome = await this.#options.blobs.uploads.part(upload, { number, bytes, signal: either });
        if (outcome === 'ok') sent.add(number);
        else isGone = true;
      } catch (error) {
        // The others would fail too.
        failed.abort(error);
        throw error;
      } finally {
        leave();
      }
    };
    const missing = numbers.filter((number) => !sent.has(number));
    await sideBySide(missing, send).catch((error: unknown) => {
      signal.throwIfAborted();
      throw failed.signal.reason ?? error;
    });
    return isGone ? 'gone' : 'ok';
  }

  /** Begins the upload, or asks the store how far it is. */
  async #begin(
    file: RecordingFile,
    running: Running,
  ): Promise<{ upload: BlobUpload; sent: Set<number> } | 'gone'> {
    const { blobs, save, settings } = this.#options;
    const { upload } = file.meta;
    if (upload && running.sent) return { upload, sent: running.sent };
    if (!upload) {
      const begun = await blobs.uploads.begin(file.keys.video, { partSize: settings.uploadPart });
      try {
        await save(file, begun);
      } catch (error) {
        await blobs.uploads.abort(begun).catch(() => {});
        throw error;
      }
      file.meta = { ...file.meta, upload: begun };
      running.sent = new Set();
      return { upload: begun, sent: running.sent };
    }
    const parts = await blobs.uploads.parts(upload);
    if (parts === 'gone') return 'gone';
    const whole = parts.filter(({ size }) => size === upload.partSize);
    running.sent = new Set(whole.map(({ number }) => number));
    return { upload, sent: running.sent };
  }

  async #restart(file: RecordingFile, running: Running): Promise<void> {
    await this.#options.save(file, null);
    const { upload: _, ...meta } = file.meta;
    file.meta = meta;
    running.sent = new Set();
  }
}

/** How often one upload is begun or repaired while a recording is finished, or a rendition stored. */
export const uploadAttempts = 3;

interface Running {
  /** Numbers of the parts that the store has; undefined: a former process sent some, and the store must be asked. */
  sent: Set<number> | undefined;
  /** Ends `growing`. */
  readonly stop: AbortController;
  growing?: Promise<void> | undefined;
}

async function read(file: RecordingFile, { from, to }: { from: number; to: number }): Promise<Uint8Array> {
  const path = file.path('video');
  const bytes = await Bun.file(path).slice(from, to).bytes();
  if (bytes.length === to - from) return bytes;
  throw new Error(`${path} has ${from + bytes.length} bytes, not ${to}`);
}
