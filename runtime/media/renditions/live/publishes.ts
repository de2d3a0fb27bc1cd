import type { Init } from '../../live/segment.ts';
import type { TakeFeed } from '../../recording/feed.ts';
import type { Place } from './place.ts';

/** A publish whose renditions are made. */
export interface LadderPublish {
  /** As of `Attachment`. */
  readonly recording?: { open(rendition?: string): TakeFeed | undefined; onTrouble(error: unknown): void };
}

export interface KnownPublish extends LadderPublish {
  /** The first init that it may have. */
  readonly init: number;
  /** The first segment that is not of it any more; undefined while it runs. */
  end: number | undefined;
}

/** The publishes of one playlist of which something may still be made, the oldest first. */
export class Publishes {
  #known: KnownPublish[] = [];

  /** Whether one runs, or none has come yet. */
  get isOpen(): boolean {
    return this.#known.at(-1)?.end === undefined;
  }

  get isRecorded(): boolean {
    return this.#known.some(({ recording }) => recording !== undefined);
  }

  /** `init`: the first that it may have. */
  add({ recording }: LadderPublish, { init }: { readonly init: number }): void {
    this.#known.push({ ...(recording && { recording }), init, end: undefined });
  }

  /** All are over; `next` is the first segment that is not of them. */
  close(next: number): void {
    for (const publish of this.#known) publish.end ??= next;
  }

  of(init: Init): KnownPublish | undefined {
    return this.#known.findLast((publish) => publish.init <= init.id);
  }

  /** All that came is made, when `place` is what is made next. */
  isMade(place: Place | undefined): boolean {
    const last = this.#known.at(-1);
    return last === undefined || isMade(last, place);
  }

  /** Forgets those of which nothing is made any more. The newest stays: it says whether somebody publishes. */
  settle(place: Place | undefined): void {
    this.#known = this.#known.filter((each, i, all) => i === all.length - 1 || !isMade(each, place));
  }
}

/** It is over, and nothing of it is made any more. */
export function isMade({ end }: KnownPublish, place: Place | undefined): boolean {
  return end !== undefined && (place === undefined || place.sequence >= end);
}
