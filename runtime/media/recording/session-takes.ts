import type { TakeState } from '../../../core/ports/recorder.ts';
import type { Take } from './take.ts';

/** The takes of a node: of each session that of the source, and beside it those of its renditions. */
export class SessionTakes {
  readonly #sources = new Map<string, Take>();
  readonly #renditions = new Map<string, Map<string, Take>>();
  /** Sessions of which there is a source. */
  get count(): number {
    return this.#sources.size;
  }
  renditionCount = 0;

  add(take: Take): void {
    const { sessionId, rendition } = take.meta;
    if (!rendition) {
      this.#sources.set(sessionId, take);
      return;
    }
    const others = this.#renditions.get(sessionId) ?? new Map<string, Take>();
    this.#renditions.set(sessionId, others.set(rendition.name, take));
    this.renditionCount += 1;
  }

  delete(take: Take): void {
    const { sessionId, rendition } = take.meta;
    if (!rendition) {
      this.#sources.delete(sessionId);
      return;
    }
    const others = this.#renditions.get(sessionId);
    if (others?.delete(rendition.name)) this.renditionCount -= 1;
    if (others?.size === 0) this.#renditions.delete(sessionId);
  }

  source(sessionId: string): Take | undefined {
    return this.#sources.get(sessionId);
  }

  rendition(sessionId: string, name: string): Take | undefined {
    return this.#renditions.get(sessionId)?.get(name);
  }

  /** In the order of its profiles. */
  renditions(sessionId: string): readonly Take[] {
    const order = ({ meta: { rendition } }: Take) => rendition?.order ?? 0;
    return [...(this.#renditions.get(sessionId)?.values() ?? [])].sort((a, b) => order(a) - order(b));
  }

  *all(): Iterable<Take> {
    yield* this.#sources.values();
    for (const others of this.#renditions.values()) yield* others.values();
  }

  /** One of each session, also of one that has renditions alone, because nothing of its source could be written. */
  states(): TakeState[] {
    const sessions = new Set([...this.#sources.keys(), ...this.#renditions.keys()]);
    return [...sessions].flatMap((sessionId) => {
      const renditions = this.renditions(sessionId);
      const [first, ...others] = [this.source(sessionId), ...renditions].flatMap((take) => take?.state ?? []);
      return first ? [others.reduce(together, first)] : [];
    });
  }
}

/** `isFinished` is what the first is: renditions are no recording. */
function together(first: TakeState, other: TakeState): TakeState {
  return {
    ...first,
    isFed: first.isFed || other.isFed,
    writtenAt: Math.max(first.writtenAt, other.writtenAt),
    bytes: first.bytes + other.bytes,
  };
}
