import type { Clip, ClipTag } from './flv-file.ts';

/**
 * Walks through a clip for ever. `position` counts milliseconds from the clip's start and never goes back:
 * every loop adds the same whole number, so audio and video keep together however long it runs.
 */
export function loopOf(clip: Clip, options: { startAt?: number } = {}): ClipLoop {
  let loop = 0;
  let index = 0;
  const isStart = (tag: ClipTag): boolean => tag.isKey || clip.frames === 0;
  const cursor: ClipLoop = {
    get tag() {
      return clip.tags[index];
    },
    get position() {
      return loop * clip.duration + clip.tags[index].timestamp;
    },
    get frame() {
      return loop * clip.frames + clip.tags[index].frame;
    },
    get loops() {
      return loop;
    },
    advance() {
      index += 1;
      if (index < clip.tags.length) return;
      index = 0;
      loop += 1;
    },
    seekKey() {
      for (let n = 0; n < clip.tags.length && !isStart(cursor.tag); n++) cursor.advance();
    },
  };
  const startAt = (options.startAt ?? 0) % clip.duration;
  while (loop === 0 && cursor.position < startAt) cursor.advance();
  cursor.seekKey();
  return cursor;
}

export interface ClipLoop {
  /** What comes next. */
  readonly tag: ClipTag;
  /** Its decoding time since the start of the first loop, in milliseconds. */
  readonly position: number;
  /**
   * Its picture, counted on over loops: the picture shows it modulo the clip's frames. Meaningless for audio.
   */
  readonly frame: number;
  readonly loops: number;
  advance(): void;
  /** Steps on to the next key frame, unless it stands at one. */
  seekKey(): void;
}
