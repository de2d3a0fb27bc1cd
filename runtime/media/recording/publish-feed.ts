import type { Clock } from '../../../core/ports/clock.ts';
import type { PublishedInit, PublishedPart } from '../publish/subscriber.ts';
import type { RecordingFeed, WrittenRecording } from './feed.ts';
import type { RecordingFile } from './recording-file.ts';
import { type GapReason, troubles } from './trouble.ts';
import type { WritingThread } from './writing-thread.ts';

/** One publish of a recording file: parts go to the recording thread, or are left out up to the next key frame. */
export class PublishFeed implements RecordingFeed {
  readonly #file: RecordingFile;
  readonly #thread: WritingThread;
  readonly #clock: Clock;
  readonly #onEnd: () => void;
  readonly #number: number;
  #init: PublishedInit | undefined;
  /** The thread that got `#init`. */
  #epoch = -1;
  #isSkipping = false;
  #issue = { text: '', at: Number.NEGATIVE_INFINITY };

  constructor(file: RecordingFile, options: { thread: WritingThread; clock: Clock; onEnd: () => void }) {
    this.#file = file;
    this.#thread = options.thread;
    this.#clock = options.clock;
    this.#onEnd = options.onEnd;
    this.#number = file.beginFeed();
    // What earlier publishes wrote is read meanwhile.
    this.#thread.announce(file.number);
  }

  begin(init: PublishedInit): void {
    if (!this.#isOpen) return;
    this.#init = { ...init, bytes: init.bytes.slice() };
    this.#isSkipping = false;
    this.#sendInit(this.#init);
  }

  part(bytes: Uint8Array, part: PublishedPart): boolean {
    if (!this.#isOpen || !this.#init) return false;
    if (this.#isSkipping && !part.isIndependent) return false;
    if (this.#epoch !== this.#thread.epoch && !this.#resume(this.#init, part)) return false;
    if (!this.#thread.part(this.#file.number, bytes, part)) {
      this.#miss(this.#thread.isUp ? 'slow' : 'thread');
      return false;
    }
    this.#isSkipping = false;
    this.#file.isBegun = true;
    return this.#file.trouble === undefined;
  }

  end(): void {
    if (!this.#isOpen) return;
    this.#thread.send({ op: 'end', file: this.#file.number });
    this.#init = undefined;
    this.#file.endFeed();
    this.#onEnd();
  }

  get issues(): readonly string[] {
    const { trouble, meta } = this.#file;
    // Viewers of the recording miss nothing of the broadcast, so one text does for all reasons.
    if (meta.rendition) return trouble !== undefined || this.#isSkipping ? [troubles.rendition] : [];
    if (trouble !== undefined) this.#setIssue(trouble);
    return this.#clock.now() - this.#issue.at < issueMs ? [this.#issue.text] : [];
  }

  get written(): WrittenRecording {
    return this.#file;
  }

  get #isOpen(): boolean {
    const { feeds, isFed, isEnding, isDropped } = this.#file;
    return isFed && feeds === this.#number && !isEnding && !isDropped;
  }

  /** A new thread knows nothing of this publish, and what the former one had not written is missing. */
  #resume(init: PublishedInit, part: PublishedPart): boolean {
    if (part.isIndependent && this.#gap('thread')) {
      this.#sendInit(init);
      return true;
    }
    this.#isSkipping = true;
    this.#setIssue(troubles.thread);
    return false;
  }

  #sendInit(init: PublishedInit): void {
    const isSent = this.#thread.send({ op: 'begin', file: this.#file.number, init });
    this.#epoch = isSent ? this.#thread.epoch : -1;
  }

  #miss(reason: 'slow' | 'thread'): void {
    if (!this.#isSkipping) this.#gap(reason);
    this.#isSkipping = true;
    this.#setIssue(troubles[reason]);
  }

  #gap(reason: GapReason): boolean {
    return this.#thread.send({ op: 'gap', file: this.#file.number, reason });
  }

  #setIssue(text: string): void {
    this.#issue = { text, at: this.#clock.now() };
  }
}

/** ms for which `issues` show a gap after the last missing part. */
const issueMs = 30_000;
