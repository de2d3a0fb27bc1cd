import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { FinishedRecording, RecordingFileState } from '../../../core/ports/recorder.ts';
import type { IndexedInit, IndexedSegment } from '../../../core/vod/segment-index.ts';
import { fileStream } from '../../drivers/blobs/fs/index.ts';
import type { WrittenRecording } from './feed.ts';
import { SegmentRows } from './file/segment-rows.ts';
import { fileNames, type RecordingMeta } from './meta.ts';
import type { FileNote } from './thread/protocol.ts';

/** A recording file as the main thread knows it. */
export class RecordingFile implements WrittenRecording {
  readonly number: number;
  readonly folder: string;
  meta: RecordingMeta;
  readonly inits: IndexedInit[] = [];
  readonly #rows = new SegmentRows();
  /** Counts publishes; only the newest may add to it. */
  feeds = 0;
  #fed: PromiseWithResolvers<void> | undefined;
  /** A part was handed over. */
  isBegun: boolean;
  /** Nothing is added any more. */
  isEnding: boolean;
  /** It is being removed. */
  isDropped = false;
  finishing: Promise<FinishedRecording | undefined> | undefined;
  /** The finishing of a rendition. Never rejects. */
  working: Promise<void> = Promise.resolve();
  bytes: number;
  /** Epoch ms. */
  writtenAt: number;
  /** Bytes that are on disk and never change again. */
  durable = 0;
  trouble: string | undefined;

  constructor(options: {
    number: number;
    folder: string;
    meta: RecordingMeta;
    bytes: number;
    writtenAt: number;
  }) {
    this.number = options.number;
    this.folder = options.folder;
    this.meta = options.meta;
    this.bytes = options.bytes;
    this.writtenAt = options.writtenAt;
    this.isBegun = options.bytes > 0;
    this.isEnding = options.meta.isEnding === true;
  }

  get isFed(): boolean {
    return this.#fed !== undefined;
  }

  /** A publish begins to feed it. Returns its number. */
  beginFeed(): number {
    this.#fed ??= Promise.withResolvers();
    this.feeds += 1;
    return this.feeds;
  }

  endFeed(): void {
    this.#fed?.resolve();
    this.#fed = undefined;
  }

  /** Resolves when nobody feeds it. */
  get unfed(): Promise<void> {
    return this.#fed?.promise ?? Promise.resolve();
  }

  path(name: keyof typeof fileNames): string {
    return join(this.folder, fileNames[name]);
  }

  /** Of its blobs. */
  get keys(): { video: string; head: string; index: string } {
    const name = `${this.meta.folder}/${this.meta.takeId}`;
    return { video: `${name}.mp4`, head: `${name}.head.mp4`, index: `${name}.index.bin` };
  }

  get state(): RecordingFileState {
    const { sessionId, streamId, finished } = this.meta;
    const { isFed, writtenAt, bytes } = this;
    return { sessionId, streamId, isFed, isFinished: finished !== undefined, writtenAt, bytes };
  }

  get count(): number {
    return this.#rows.count;
  }

  segment(number: number): IndexedSegment {
    return this.#rows.get(number);
  }

  async read(
    from: number,
    to: number,
    signal?: AbortSignal,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const what = this.path('video');
    const handle = await open(what).catch(() => undefined);
    return handle && fileStream(handle, { what, from, to, ...(signal && { signal }) });
  }

  /** What the recording thread reports. */
  note(note: FileNote): void {
    // The size is unknown before the file is opened.
    if (note.bytes > 0) this.bytes = note.bytes;
    this.writtenAt = Math.max(this.writtenAt, note.writtenAt);
    this.durable = note.durable;
    this.trouble = note.trouble;
    this.meta = { ...this.meta, gaps: note.gaps };
    // A new thread reports again what a former one did.
    note.inits.forEach((init, index) => {
      this.inits[note.firstInit + index] ??= init;
    });
    this.#rows.append(note.rows, note.firstRow);
  }
}
