import { join } from 'node:path';
import type { FinishedTake, TakeState } from '../../../core/ports/recorder.ts';
import type { TakeNote } from './protocol.ts';
import { spoolFiles, type TakeMeta } from './take-meta.ts';
import { Written } from './written.ts';

/** A take as the main thread knows it. */
export class Take {
  readonly number: number;
  /** Its spool. */
  readonly folder: string;
  readonly written: Written;
  meta: TakeMeta;
  /** Counts publishes; only the newest may add to it. */
  feeds = 0;
  #isFed = false;
  readonly #onUnfed: (() => void)[] = [];
  /** Something of it was handed over. */
  isBegun: boolean;
  /** Nothing is added any more. */
  isEnding: boolean;
  /** It is being removed. */
  isDropped = false;
  finishing: Promise<FinishedTake | undefined> | undefined;
  /** Of a rendition: what is done with it at the end. Never rejects. */
  working: Promise<void> | undefined;
  bytes: number;
  /** Epoch ms. */
  writtenAt: number;
  /** Bytes that are on disk and never change again. */
  durable = 0;
  trouble: string | undefined;

  constructor(options: {
    number: number;
    folder: string;
    meta: TakeMeta;
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
    this.written = new Written(this.file('video'));
  }

  get isFed(): boolean {
    return this.#isFed;
  }

  set isFed(isFed: boolean) {
    this.#isFed = isFed;
    if (!isFed) for (const done of this.#onUnfed.splice(0)) done();
  }

  /** Kept when nobody feeds it, or the signal is aborted. */
  whenUnfed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (!this.#isFed || signal.aborted) return resolve();
      this.#onUnfed.push(resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  file(name: keyof typeof spoolFiles): string {
    return join(this.folder, spoolFiles[name]);
  }

  get keys(): { video: string; head: string; index: string } {
    const name = `${this.meta.folder}/${this.meta.takeId}`;
    return { video: `${name}.mp4`, head: `${name}.head.mp4`, index: `${name}.index.bin` };
  }

  get state(): TakeState {
    const { sessionId, streamId, finished } = this.meta;
    const { isFed, writtenAt, bytes } = this;
    return { sessionId, streamId, isFed, isFinished: finished !== undefined, writtenAt, bytes };
  }

  /** What the writing thread tells. */
  note(note: TakeNote): void {
    // Nothing is known of a file that was not opened yet.
    if (note.bytes > 0) this.bytes = note.bytes;
    this.writtenAt = Math.max(this.writtenAt, note.writtenAt);
    this.durable = note.durable;
    this.trouble = note.trouble;
    this.meta = { ...this.meta, gaps: note.gaps };
    this.written.add(note);
  }
}
