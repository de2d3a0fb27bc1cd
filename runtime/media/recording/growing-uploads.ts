import type { Log } from '../../../core/base/log.ts';
import type { Blobs, BlobUpload } from '../../../core/ports/blobs.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { RecorderLimits } from './limits.ts';
import { places } from './places.ts';
import { unavailable } from './recorder-link.ts';
import type { Take } from './take.ts';

interface UploadOptions {
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly limits: RecorderLimits;
  readonly log: Log;
  /** Keeps it in `take.json`. */
  save(take: Take, upload: BlobUpload | null): Promise<void>;
}

/**
 * Takes that go to the blob store while they grow: parts of what never changes again and is on disk, so that the store has
 * nothing a crash could make untrue. A store that fails is asked again, less and less often; nothing else waits for it.
 */
export class GrowingUploads {
  readonly #options: UploadOptions;
  readonly #running = new Map<Take, Running>();
  readonly #inPlace: ReturnType<typeof places>;
  readonly #partSize: number;
  #isClosed = false;

  constructor(options: UploadOptions) {
    this.#options = options;
    this.#inPlace = places(options.limits.uploads);
    this.#partSize = options.limits.uploadPart;
  }

  /** More of it is there. */
  notice(take: Take): void {
    if (this.#isClosed || take.isEnding || take.isDropped || take.durable < this.#partSize) return;
    const running = this.#of(take);
    if (running.growing || !this.#isPartThere(take, running)) return;
    running.growing = this.#grow(take, running).finally(() => {
      running.growing = undefined;
    });
  }

  /** Makes the blob of it: `size` bytes, all of which are on disk. Throws what the store does. */
  async complete(take: Take, { size, signal }: { size: number; signal: AbortSignal }): Promise<void> {
    const { blobs, limits } = this.#options;
    const running = this.#of(take);
    running.stop.abort();
    await running.growing;
    const key = take.keys.video;
    for (let attempt = 1; attempt <= limits.uploadAttempts; attempt++) {
      signal.throwIfAborted();
      const isThere = (await this.#send(take, { running, to: size, isWhole: true, signal })) === 'ok';
      const upload = take.meta.upload;
      const answer = isThere && upload ? await blobs.uploads.complete(upload, { size }) : { outcome: 'gone' };
      if (answer.outcome === 'ok') {
        this.#running.delete(take);
        return;
      }
      if ('missing' in answer) for (const number of answer.missing) running.sent.delete(number);
      if (answer.outcome !== 'gone') continue;
      // It may have been completed by a process that died before it could say so.
      if ((await blobs.head(key))?.size === size) return;
      await this.#forget(take, running);
    }
    throw unavailable(`the blob store lost parts of ${key} again and again`);
  }

  /** Ends what runs; the store forgets what it has. */
  async abandon(take: Take): Promise<void> {
    const running = this.#running.get(take);
    running?.stop.abort();
    await running?.growing;
    this.#running.delete(take);
    const { upload, finished, made } = take.meta;
    if (upload && !finished && !made) await this.#options.blobs.uploads.abort(upload);
  }

  /** What is under way is left; the next process goes on with it. */
  close(): void {
    this.#isClosed = true;
    for (const { stop } of this.#running.values()) stop.abort();
  }

  #of(take: Take): Running {
    let running = this.#running.get(take);
    if (!running) {
      running = { sent: new Set(), isChecked: take.meta.upload === undefined, stop: new AbortController() };
      this.#running.set(take, running);
    }
    return running;
  }

  #isPartThere(take: Take, { sent, isChecked }: Running): boolean {
    return !isChecked || Math.floor(take.durable / this.#partSize) > sent.size;
  }

  async #grow(take: Take, running: Running): Promise<void> {
    const { limits, log } = this.#options;
    const { signal } = running.stop;
    let wait = limits.uploadWait;
    while (!signal.aborted && !take.isEnding && this.#isPartThere(take, running)) {
      try {
        const to = take.durable - (take.durable % this.#partSize);
        const outcome = await this.#send(take, { running, to, isWhole: false, signal });
        if (outcome === 'gone') await this.#forget(take, running);
        wait = limits.uploadWait;
      } catch (error) {
        if (signal.aborted) return;
        log.warn('a part of a recording could not be uploaded; it is tried again', {
          ...{ sessionId: take.meta.sessionId, wait, error },
        });
        await this.#pause(wait, signal);
        wait = Math.min(wait * 2, limits.uploadWaitMost);
      }
    }
  }

  /** Sends what is missing of the bytes up to `to`. */
  async #send(
    take: Take,
    options: { running: Running; to: number; isWhole: boolean; signal: AbortSignal },
  ): Promise<'ok' | 'gone'> {
    const { running, to, isWhole, signal } = options;
    const { blobs } = this.#options;
    const upload = await this.#upload(take, running);
    if (upload === 'gone') return 'gone';
    const count = isWhole ? Math.ceil(to / upload.partSize) : Math.floor(to / upload.partSize);
    const missing = Array.from({ length: count }, (_, index) => index + 1).filter(
      (number) => !running.sent.has(number),
    );
    const own = new AbortController();
    const all = AbortSignal.any([signal, own.signal]);
    const outcomes = await Promise.allSettled(
      missing.map((number) =>
        this.#inPlace(async () => {
          all.throwIfAborted();
          const at = (number - 1) * upload.partSize;
          const part = {
            number,
            bytes: await read(take, at, Math.min(at + upload.partSize, to)),
            signal: all,
          };
          const outcome = await blobs.uploads.part(upload, part);
          if (outcome === 'ok') running.sent.add(number);
          return outcome;
        }).catch((error: unknown) => {
          // One that fails is enough: the others would fail after it.
          own.abort(error);
          throw error;
        }),
      ),
    );
    signal.throwIfAborted();
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed) throw own.signal.reason ?? failed.reason;
    return outcomes.some((outcome) => outcome.status === 'fulfilled' && outcome.value === 'gone')
      ? 'gone'
      : 'ok';
  }

  /** Begins it, or finds out how far it is. */
  async #upload(take: Take, running: Running): Promise<BlobUpload | 'gone'> {
    const { blobs, save } = this.#options;
    const { upload } = take.meta;
    if (upload && running.isChecked) return upload;
    if (!upload) {
      const begun = await blobs.uploads.begin(take.keys.video, { partSize: this.#partSize });
      try {
        await save(take, begun);
      } catch (error) {
        await blobs.uploads.abort(begun).catch(() => {});
        throw error;
      }
      take.meta = { ...take.meta, upload: begun };
      running.isChecked = true;
      return begun;
    }
    const parts = await blobs.uploads.parts(upload);
    if (parts === 'gone') return 'gone';
    for (const { number, size } of parts) if (size === upload.partSize) running.sent.add(number);
    running.isChecked = true;
    return upload;
  }

  async #forget(take: Take, running: Running): Promise<void> {
    await this.#options.save(take, null);
    const { upload: _, ...meta } = take.meta;
    take.meta = meta;
    running.sent.clear();
    running.isChecked = true;
  }

  #pause(wait: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const cancel = clock.at(clock.now() + wait, () => {
        signal.removeEventListener('abort', stop);
        resolve();
      });
      const stop = () => {
        cancel();
        resolve();
      };
      signal.addEventListener('abort', stop, { once: true });
    });
  }
}

interface Running {
  /** Numbers of the parts that the store has. */
  readonly sent: Set<number>;
  /** What a former process sent is known. */
  isChecked: boolean;
  /** Ends `growing`. */
  readonly stop: AbortController;
  growing?: Promise<void> | undefined;
}

/** Read by the runtime's threads for files. */
async function read(take: Take, from: number, to: number): Promise<Uint8Array> {
  const bytes = await Bun.file(take.file('video')).slice(from, to).bytes();
  if (bytes.length === to - from) return bytes;
  throw new Error(`${take.file('video')} has ${from + bytes.length} bytes, not ${to}`);
}
