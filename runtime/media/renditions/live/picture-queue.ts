import { Track, VIDEO_TRACK } from '../../live/track.ts';
import type { LiveWindow } from '../../live/window.ts';
import { CTS, DTS } from '../../mp4/fragment.ts';
import type { MemoryHold } from '../../publish/memory-budget.ts';
import { Arena } from '../../publish/sink.ts';
import type { RenditionRelay } from '../../push/rendition-relay.ts';
import { LadderBroken, LadderFull } from '../ladder.ts';
import { joinSounds, type SourcePart } from './source-part.ts';

/** What may wait of one rendition for its part. More: the output counts as unreadable. */
export const maxPictureBytes = 32 * 1_048_576;
export const maxPictures = 4096;

/** The pictures of one rendition that a process has given back and that wait for their part. Times in ticks of 1/90000 s. */
export class PictureQueue {
  /** There is one for each picture of the source, so that the last of a part is known. */
  readonly isEach: boolean;
  readonly #arena: Arena;
  readonly #track: Track;
  /** When the newest is shown. */
  #shown = Number.NEGATIVE_INFINITY;

  constructor(options: { isEach: boolean; memory: MemoryHold | undefined }) {
    const { isEach, memory } = options;
    this.isEach = isEach;
    this.#arena = new Arena({ initial: 65_536, limit: maxPictureBytes, memory });
    this.#track = new Track({
      id: VIDEO_TRACK,
      isVideo: true,
      arena: this.#arena,
      timescale: 90_000,
      limit: maxPictures,
    });
  }

  /** When the newest is decoded. */
  get newest(): number {
    return this.#track.newest;
  }

  /** Pictures are shown one behind the other, or they are not what was ordered. */
  follow(shown: number): void {
    if (!(shown > this.#shown))
      throw new LadderBroken(
        `a picture is shown at ${shown}, after one at ${this.#shown}: there must be no B-frames`,
      );
    this.#shown = shown;
  }

  /** Adds a picture, whose bytes are copied. */
  push(decoded: number, shown: number, bytes: Uint8Array, isSync: boolean): void {
    const arena = this.#arena;
    const at = arena.length;
    if (at + bytes.length > maxPictureBytes)
      throw new LadderBroken(`more than ${maxPictureBytes} bytes of pictures wait for their part`);
    if (!arena.reserve(bytes.length)) throw new LadderFull('no memory is left for pictures of renditions');
    arena.bytes.set(bytes, at);
    arena.length += bytes.length;
    if (!this.#track.push(decoded, shown - decoded, at, bytes.length, isSync ? 1 : 0))
      throw new LadderBroken(`more than ${maxPictures} pictures wait for their part`);
  }

  /** How many are decoded before `time`. */
  countBefore(time: number): number {
    const track = this.#track;
    let count = 0;
    while (count < track.count && track.dts(count) < time) count += 1;
    return count;
  }

  countIn({ start, end }: SourcePart): number {
    return this.countBefore(end) - this.countBefore(start);
  }

  /**
   * Writes parts of the source, which follow each other in one segment, as parts of the rendition. One in which no picture is
   * decoded is joined to the one before it, or at the front to the one behind. False: the window has no room for it.
   */
  write(
    parts: readonly SourcePart[],
    to: { window: LiveWindow; relay: RenditionRelay | undefined },
  ): boolean {
    for (let from = 0; from < parts.length; ) {
      let end = from + 1;
      while (
        end < parts.length &&
        (this.countIn(parts[end]) === 0 || this.countBefore(parts[end - 1].end) === 0)
      )
        end += 1;
      if (!this.#writeOne(parts.slice(from, end), to)) return false;
      from = end;
    }
    return true;
  }

  /** Nothing waits any more, and nothing more comes. */
  close(): void {
    this.#arena.retire();
    this.#arena.bytes = new Uint8Array(0);
    this.#arena.length = this.#track.count = 0;
  }

  /** Forgets what is decoded before `time`. */
  skip(time: number): void {
    this.#track.taken = this.countBefore(time);
    this.#track.forget();
  }

  #writeOne(
    parts: readonly SourcePart[],
    { window, relay }: { window: LiveWindow; relay: RenditionRelay | undefined },
  ): boolean {
    const track = this.#track;
    const [{ start, wallStart }] = parts;
    const { end } = parts[parts.length - 1];
    const sound = joinSounds(parts);
    track.taken = this.countBefore(end);
    track.until = end;
    // The first may be missing: what is there lasts as long as the part, whose length is that of the source's.
    track.table[CTS] += track.table[DTS] - start;
    track.table[DTS] = start;
    const isKept = window.addPart({
      runs: sound === undefined ? [track] : [track, sound],
      duration: parts.reduce((sum, part) => sum + part.duration, 0),
      isIndependent: track.isSyncTaken,
      time: start / 90,
      wallStart,
    });
    if (isKept) relay?.part(track, sound);
    track.forget();
    return isKept;
  }
}
