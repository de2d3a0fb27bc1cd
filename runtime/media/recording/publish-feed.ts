import type { Clock } from '../../../core/ports/clock.ts';
import type { FedInit, FedPart, TakeFeed, WrittenTake } from './feed.ts';
import type { RecorderLink } from './recorder-link.ts';
import type { Take } from './take.ts';
import { type GapReason, troubles } from './trouble.ts';

/** One publish of a take: what it hands over goes to the writing thread, or is left out up to the next key frame. */
export class PublishFeed implements TakeFeed {
  readonly #take: Take;
  readonly #link: RecorderLink;
  readonly #clock: Clock;
  readonly #issueKept: number;
  readonly #onEnd: () => void;
  readonly #number: number;
  #init: FedInit | undefined;
  /** The thread that heard of `#init`. */
  #epoch = -1;
  #isSkipping = false;
  #issue = { text: '', at: Number.NEGATIVE_INFINITY };

  /** @param options.issueKept ms */
  constructor(
    take: Take,
    options: { link: RecorderLink; clock: Clock; issueKept: number; onEnd: () => void },
  ) {
    this.#take = take;
    this.#link = options.link;
    this.#clock = options.clock;
    this.#issueKept = options.issueKept;
    this.#onEnd = options.onEnd;
    take.feeds += 1;
    take.isFed = true;
    this.#number = take.feeds;
    // What earlier publishes wrote is read meanwhile.
    this.#link.announce(take.number);
  }

  begin(init: FedInit): void {
    if (!this.#isOpen) return;
    this.#init = { ...init, bytes: init.bytes.slice() };
    this.#isSkipping = false;
    this.#place(this.#init);
  }

  part(bytes: Uint8Array, part: FedPart): boolean {
    const { number } = this.#take;
    if (!this.#isOpen || !this.#init) return false;
    if (this.#isSkipping && !part.isIndependent) return false;
    if (this.#epoch !== this.#link.epoch && !this.#resume(part)) return false;
    if (!this.#link.part(number, bytes, part)) {
      this.#miss(this.#link.isUp ? 'slow' : 'thread');
      return false;
    }
    this.#isSkipping = false;
    this.#take.isBegun = true;
    return this.#take.trouble === undefined;
  }

  end(): void {
    if (!this.#isOpen) return;
    this.#link.send({ op: 'end', take: this.#take.number });
    this.#init = undefined;
    this.#take.isFed = false;
    this.#onEnd();
  }

  get issues(): readonly string[] {
    const { trouble, meta } = this.#take;
    // Who watches the recording misses nothing of the broadcast: one word for all of them.
    if (meta.rendition) return trouble !== undefined || this.#isSkipping ? [troubles.rendition] : [];
    if (trouble !== undefined) this.#issue = { text: trouble, at: this.#clock.now() };
    return this.#clock.now() - this.#issue.at < this.#issueKept ? [this.#issue.text] : [];
  }

  get written(): WrittenTake {
    return this.#take.written;
  }

  get #isOpen(): boolean {
    const { feeds, isEnding, isDropped } = this.#take;
    return feeds === this.#number && !isEnding && !isDropped;
  }

  /** A thread that never heard of this publish: what the former one had not written is missing. */
  #resume(part: FedPart): boolean {
    if (part.isIndependent && this.#gap('thread') && this.#init) {
      this.#place(this.#init);
      return true;
    }
    this.#isSkipping = true;
    this.#issue = { text: troubles.thread, at: this.#clock.now() };
    return false;
  }

  #place(init: FedInit): void {
    const isHeard = this.#link.send({ op: 'begin', take: this.#take.number, init });
    this.#epoch = isHeard ? this.#link.epoch : -1;
  }

  #miss(reason: 'slow' | 'thread'): void {
    if (!this.#isSkipping) this.#gap(reason);
    this.#isSkipping = true;
    this.#issue = { text: troubles[reason], at: this.#clock.now() };
  }

  #gap(reason: GapReason): boolean {
    return this.#link.send({ op: 'gap', take: this.#take.number, reason });
  }
}
