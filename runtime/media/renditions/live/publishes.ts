import type { Init, Segment } from '../../live/segment.ts';
import type { LiveWindow } from '../../live/window.ts';
import type { RecordingFeed } from '../../recording/feed.ts';

/** A part of the source, by its segment and its number in it. */
export interface Place {
  readonly sequence: number;
  readonly part: number;
}

/** The newest segment from `floor` on that a decoder can begin with. */
export function newestPlace(source: LiveWindow, { floor }: { readonly floor: number }): Place | undefined {
  const { open, init, nextSequence } = source;
  const candidates = [open, source.segment(nextSequence - 1)];
  const segment = candidates.find(
    (each) =>
      each !== undefined &&
      each.sequence >= floor &&
      each.init.id === init?.id &&
      each.parts[0]?.isIndependent,
  );
  return segment && { sequence: segment.sequence, part: 0 };
}

/** The nearest segment that a decoder can begin with: this one, mostly; undefined: there is none any more. */
export function decodableBefore(source: LiveWindow, segment: Segment): Segment | undefined {
  let found: Segment | undefined = segment;
  while (found !== undefined && !found.parts[0]?.isIndependent) found = source.segment(found.sequence - 1);
  return found?.init.id === segment.init.id ? found : undefined;
}

/** How much media of the source lies behind this place, seconds. */
export function mediaBehind(source: LiveWindow, place: Place): number {
  let seconds = 0;
  for (let { sequence } = place; sequence <= source.nextSequence; sequence += 1) {
    const segment = source.segment(sequence);
    const from = sequence === place.sequence ? place.part : 0;
    if (segment !== undefined) for (const part of segment.parts.slice(from)) seconds += part.duration;
  }
  return seconds;
}

export function hasPictures(init: Init): init is Init & { width: number; height: number } {
  return init.width !== undefined && init.height !== undefined;
}

/** A publish whose renditions are made. */
export interface LadderPublish {
  /** As of `Attachment`. */
  readonly recording?: {
    open(rendition?: string): RecordingFeed | undefined;
    onTrouble(error: unknown): void;
  };
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
