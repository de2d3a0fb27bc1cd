import { createHash, randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../../core/base/log.ts';
import { unlessAborted } from '../../../core/base/timing.ts';
import type { Blobs } from '../../../core/ports/blobs.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { PublishGrant } from '../../../core/ports/media.ts';
import type { FinishedRecording, RecorderTotals, RecordingFileState } from '../../../core/ports/recorder.ts';
import { codeOf } from '../../base/disk.ts';
import type { MediaRecorder, RecordingFeed } from './feed.ts';
import { type FinishOptions, finishRecording } from './finish/finish-recording.ts';
import { joinRecordings, joinRenditions } from './finish/joining.ts';
import { MultipartUploads } from './finish/multipart-uploads.ts';
import { findFiles, removeFolder } from './found-files.ts';
import { folderName, joinMark, type RecordingMeta } from './meta.ts';
import { PublishFeed } from './publish-feed.ts';
import { RecordingFile } from './recording-file.ts';
import { type RecorderSettings, recorderDefaults } from './settings.ts';
import type { FileNote } from './thread/protocol.ts';
import { type GapReason, gapReasons } from './trouble.ts';
import { recordingFault, unavailable, WritingThread } from './writing-thread.ts';

export interface RecorderOptions {
  /** `<dataDir>/recordings`: a folder for each recording file. Made with the first. */
  readonly folder: string;
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly log: Log;
  /** Those that are not given are the defaults. */
  readonly settings?: Partial<RecorderSettings>;
  /** The recording thread; tests bring their own. */
  readonly worker?: URL;
}

/** Records on this node's disk. One thread writes all files; it starts with the first. */
export class DiskRecorder implements MediaRecorder {
  readonly #options: RecorderOptions;
  readonly #thread: WritingThread;
  /** What finishing and joining need. */
  readonly #shared: FinishOptions;
  /** By their number. */
  readonly #files = new Map<number, RecordingFile>();
  /** What is being joined, by `takeId`. */
  readonly #joining = new Map<string, Promise<FinishedRecording>>();
  readonly #stopping = new AbortController();
  #lastNumber = 0;
  #written = 0;
  readonly #gaps = noGaps();
  readonly #renditionGaps = noGaps();

  constructor(options: RecorderOptions) {
    const { folder, blobs, clock, log } = options;
    const { worker = new URL('./thread/recorder-worker.ts', import.meta.url) } = options;
    const settings = { ...recorderDefaults, ...options.settings };
    this.#options = options;
    this.#thread = new WritingThread({
      ...{ worker, folder, clock, settings, log },
      metaOf: (number) => this.#files.get(number)?.meta,
      onNote: (note) => this.#note(note),
    });
    const uploads = new MultipartUploads({
      ...{ blobs, clock, settings, log },
      save: (file, upload) => this.#thread.call('save', { file: file.number, fields: { upload } }),
    });
    const { signal } = this.#stopping;
    this.#shared = { blobs, clock, settings, log, uploads, thread: this.#thread, signal };
  }

  async open(): Promise<void> {
    const { folder, log } = this.#options;
    for (const { meta, ...about } of await findFiles(folder, log)) {
      const file = this.#add(meta, about);
      if (!file.isEnding) this.#thread.announce(file.number);
    }
  }

  async files(): Promise<readonly RecordingFileState[]> {
    return this.#states();
  }

  totals(): RecorderTotals {
    const states = this.#states();
    return {
      files: states.length,
      growing: states.filter(({ isFed }) => isFed).length,
      bytes: states.reduce((sum, { bytes }) => sum + bytes, 0),
      ...{ written: this.#written, gaps: this.#gaps, renditionGaps: this.#renditionGaps },
    };
  }

  feed(grant: PublishGrant, rendition?: string): RecordingFeed | undefined {
    const { sessionId, streamId, recording } = grant;
    if (!recording || this.#stopping.signal.aborted || !sessionShape.test(sessionId)) return undefined;
    const { source, renditions } = this.#ofSession(sessionId);
    if (source?.isEnding || source?.isDropped) return undefined;
    let file =
      rendition === undefined ? source : renditions.find(({ meta }) => meta.rendition?.name === rendition);
    if (!file) {
      // A rendition alone is no recording.
      if (rendition !== undefined && !source) return undefined;
      const { folder } = source?.meta ?? recording;
      file = this.#add({
        ...{ version: 1, sessionId, streamId, folder, takeId: randomUUID(), gaps: 0 },
        ...(rendition !== undefined && { rendition: { name: rendition, order: orderOf(rendition, grant) } }),
      });
    }
    return this.#feedOf(file);
  }

  async finish(
    sessionId: string,
    { signal }: { signal: AbortSignal },
  ): Promise<FinishedRecording | undefined> {
    signal.throwIfAborted();
    const { source: file, renditions } = this.#ofSession(sessionId);
    if (!file || file.isDropped) return undefined;
    if (!file.finishing) {
      const finishing = finishRecording(file, { ...this.#shared, renditions });
      file.finishing = finishing.catch((error: unknown) => {
        // A repeat continues where it stopped.
        file.finishing = undefined;
        throw error;
      });
      file.finishing.catch(() => {});
    }
    return unlessAborted(file.finishing, signal);
  }

  async join(
    parts: readonly FinishedRecording[],
    { folder, signal }: { folder: string; signal: AbortSignal },
  ): Promise<FinishedRecording> {
    signal.throwIfAborted();
    // The same parts make the same names: a repeat after a crash leaves nothing behind.
    const text = JSON.stringify([folder, parts.map(({ video }) => video.key)]);
    const takeId = createHash('sha256').update(text).digest('hex').slice(0, 0x20);
    let made = this.#joining.get(takeId);
    if (!made) {
      made = this.#join(parts, { folder, takeId }).finally(() => this.#joining.delete(takeId));
      made.catch(() => {});
      this.#joining.set(takeId, made);
    }
    return unlessAborted(made, signal);
  }

  async drop(sessionId: string): Promise<void> {
    const { source, renditions } = this.#ofSession(sessionId);
    // The source goes last, so that a crash in between leaves a recording to drop again.
    const all = [...renditions, ...(source ? [source] : [])];
    for (const file of all) file.isDropped = true;
    await source?.finishing?.catch(() => {});
    for (const file of all) await this.#remove(file);
  }

  async close(): Promise<void> {
    this.#stopping.abort(unavailable('the server is stopping'));
    this.#shared.uploads.close();
    await this.#thread.close();
  }

  #add(meta: RecordingMeta, about?: { bytes: number; writtenAt: number }): RecordingFile {
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    const { bytes, writtenAt } = about ?? { bytes: 0, writtenAt: this.#options.clock.now() };
    const folder = join(this.#options.folder, folderName(meta));
    const file = new RecordingFile({ number, folder, meta, bytes, writtenAt });
    this.#files.set(number, file);
    return file;
  }

  /** What there is of a session: renditions in the order of their profiles. */
  #ofSession(sessionId: string): { source: RecordingFile | undefined; renditions: RecordingFile[] } {
    const all = [...this.#files.values()].filter(({ meta }) => meta.sessionId === sessionId);
    const order = ({ meta: { rendition } }: RecordingFile) => rendition?.order ?? 0;
    return {
      source: all.find(({ meta }) => !meta.rendition),
      renditions: all.filter(({ meta }) => meta.rendition).sort((a, b) => order(a) - order(b)),
    };
  }

  /** One of each session, also where there are renditions alone because nothing of the source could be written. */
  #states(): RecordingFileState[] {
    const files = [...this.#files.values()].filter(({ meta }) => !meta.sessionId.startsWith(joinMark));
    return [...Map.groupBy(files, ({ meta }) => meta.sessionId).values()].map((all) => ({
      // `isFinished` is that of the source: a rendition alone is no recording.
      ...(all.find(({ meta }) => !meta.rendition) ?? all[0]).state,
      isFed: all.some(({ isFed }) => isFed),
      writtenAt: Math.max(...all.map(({ writtenAt }) => writtenAt)),
      bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
    }));
  }

  #note(note: FileNote): void {
    const file = this.#files.get(note.file);
    this.#written += Math.max(0, note.bytes - (file?.bytes ?? note.bytes));
    const gaps = file?.meta.rendition ? this.#renditionGaps : this.#gaps;
    for (const reason of note.reasons) gaps[reason] += 1;
    file?.note(note);
    if (file && this.#options.blobs.adopting === 'copy') this.#shared.uploads.notice(file);
  }

  #feedOf(file: RecordingFile): PublishFeed {
    const onEnd = () => {
      // A publish that never played leaves nothing.
      if (file.isBegun || file.isEnding || file.isDropped) return;
      this.#files.delete(file.number);
      this.#thread.forget(file.number).catch(() => {});
    };
    return new PublishFeed(file, { thread: this.#thread, clock: this.#options.clock, onEnd });
  }

  async #join(
    parts: readonly FinishedRecording[],
    { folder, takeId }: { folder: string; takeId: string },
  ): Promise<FinishedRecording> {
    const about = { version: 1, sessionId: `${joinMark}${takeId}`, streamId: '', folder, gaps: 0 } as const;
    const file = this.#add({ ...about, takeId });
    const names = new Set(parts.flatMap(({ renditions = [] }) => renditions.map(({ name }) => name)));
    const renditions = [...names].map((name, order) =>
      this.#add({ ...about, takeId: `${takeId}-${order + 1}`, rendition: { name, order } }),
    );
    const options = this.#shared;
    try {
      for (const one of [file, ...renditions]) await rm(one.folder, { recursive: true, force: true });
      await joinRecordings(parts, { ...options, into: file });
      const joined = await joinRenditions(parts, { ...options, renditions });
      const made = await finishRecording(file, { ...options, renditions: joined });
      if (!made || file.meta.gaps > 0) throw unavailable('a recording could not be joined as a whole');
      return { ...made, gaps: parts.reduce((sum, { gaps }) => sum + gaps, 0) };
    } finally {
      for (const one of [...renditions, file])
        await this.#remove(one).catch((error: unknown) => {
          options.log.warn('the files of a joined recording could not be removed', { error });
        });
    }
  }

  /** Nothing of it stays on this disk, and no unfinished upload. */
  async #remove(file: RecordingFile): Promise<void> {
    await file.working;
    await this.#shared.uploads.abandon(file);
    // A thread that ended has no file open.
    await this.#thread.forget(file.number).catch((error: unknown) => {
      if (this.#thread.isUp) throw error;
    });
    await removeFolder(file.folder).catch((error: unknown) => {
      throw recordingFault({ message: String(error), code: codeOf(error) });
    });
    this.#files.delete(file.number);
  }
}

/** Place of its profile; one that is not among the profiles comes last. */
function orderOf(rendition: string, { profiles = [] }: PublishGrant): number {
  const order = profiles.findIndex(({ name }) => name === rendition);
  return order < 0 ? profiles.length : order;
}

function noGaps(): Record<GapReason, number> {
  return Object.fromEntries(gapReasons.map((reason) => [reason, 0])) as Record<GapReason, number>;
}

/** A session is a folder. */
const sessionShape = /^[a-zA-Z0-9_-]{1,100}$/;
