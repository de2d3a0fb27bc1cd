import type { PublishedInit, PublishedPart, Subscriber } from '../publish/subscriber.ts';
import type { RecordingFeed, WrittenRecording } from './feed.ts';

export interface RecordingTapOptions {
  /** The feed of this publish; undefined: it is not recorded. */
  open(): RecordingFeed | undefined;
  /** The recorder threw. Called once until it takes something again. */
  onTrouble(error: unknown): void;
}

/**
 * What a packager hands to the recorder of one publish. Nothing here throws or waits: whatever the recorder does, viewers
 * do not notice. Nothing is fed before there is a part, so that a publish that never plays leaves no recording.
 */
export class RecordingTap implements Subscriber {
  readonly #options: RecordingTapOptions;
  #feed: RecordingFeed | undefined;
  /** To be handed over before the next part. */
  #due: PublishedInit | undefined;
  #init: PublishedInit | undefined;
  /** It threw: what follows begins anew where a decoder can begin. */
  #isBroken = false;

  constructor(options: RecordingTapOptions) {
    this.#options = options;
    this.#try(() => {
      this.#feed = options.open();
    });
  }

  /** What is wrong with the recording now. */
  get issues(): readonly string[] {
    if (this.#isBroken) return [broken];
    if (this.#feed === undefined) return [notRecorded];
    try {
      return this.#feed.issues;
    } catch {
      return [broken];
    }
  }

  /** What can be read of the recording file. */
  get written(): WrittenRecording | undefined {
    try {
      return this.#feed?.written;
    } catch {
      return undefined;
    }
  }

  begin(init: PublishedInit): void {
    this.#init = this.#due = init;
  }

  /** A part as it was cut. `bytes` are good during the call alone. */
  part(bytes: Uint8Array, part: PublishedPart): void {
    const feed = this.#feed;
    if (feed === undefined) return;
    if (this.#isBroken) {
      if (!part.startsSegment || !part.isIndependent) return;
      this.#due = this.#init;
    }
    this.#try(() => {
      if (this.#due !== undefined) feed.begin(this.#due);
      this.#due = undefined;
      feed.part(bytes, part);
      this.#isBroken = false;
    });
  }

  /** The publish is over. */
  end(): void {
    this.#try(() => this.#feed?.end());
  }

  #try(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!this.#isBroken) this.#options.onTrouble(error);
      this.#isBroken = true;
    }
  }
}

/** Shown as `issues` of the stream. */
const notRecorded =
  'This broadcast is not recorded: its recording is finished already, or the server has no room for another. Check its disk.';
const broken =
  'Parts of the recording are missing because of a server fault; viewers are not affected. Check the server log.';
